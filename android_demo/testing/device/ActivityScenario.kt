// This folder: what the tests for a device use of androidx.test, by name only. pom.xml compiles those tests, never runs
// them, so that they keep up with the app.
package androidx.test.core.app

import android.app.Activity

class ActivityScenario<A : Activity> private constructor() : AutoCloseable {
    fun onActivity(@Suppress("UNUSED_PARAMETER") action: (A) -> Unit): ActivityScenario<A> = this

    fun recreate(): ActivityScenario<A> = this

    override fun close() = Unit

    companion object {
        @JvmStatic
        fun <A : Activity> launch(@Suppress("UNUSED_PARAMETER") type: Class<A>): ActivityScenario<A> =
            ActivityScenario()
    }
}
