package org.tetraphone.demo

import android.os.Handler
import android.os.Looper

/** The state, changed by any thread, and those on the main thread who watch it: told the newest as soon as it can. */
internal class Store {
    private val main = Handler(Looper.getMainLooper())
    private val observers = LinkedHashSet<(UiState) -> Unit>() // main thread only
    private var posted = false

    @Volatile
    var state = UiState()
        private set

    @Synchronized
    fun update(change: UiState.() -> UiState) {
        state = state.change()
        if (!posted) main.post(::deliver)
        posted = true
    }

    fun observe(observer: (UiState) -> Unit): AutoCloseable {
        observers += observer
        observer(state)
        return AutoCloseable { observers -= observer }
    }

    private fun deliver() {
        synchronized(this) { posted = false }
        observers.toList().forEach { if (it in observers) it(state) }
    }
}
