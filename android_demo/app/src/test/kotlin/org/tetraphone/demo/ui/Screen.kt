package org.tetraphone.demo.ui

import android.content.Intent
import android.graphics.Bitmap
import android.graphics.Canvas
import android.graphics.Rect
import android.os.Bundle
import android.os.Looper
import android.view.View
import android.view.ViewGroup
import android.widget.TextView
import org.robolectric.Robolectric
import org.robolectric.RuntimeEnvironment
import org.robolectric.Shadows.shadowOf
import org.robolectric.android.controller.ActivityController
import org.robolectric.shadows.ShadowChoreographer
import org.tetraphone.demo.DemoApplication
import org.tetraphone.demo.Engine
import org.tetraphone.demo.R
import org.tetraphone.demo.UiState
import org.tetraphone.demo.ui.NavigationBar.Tab
import java.time.Duration
import java.util.concurrent.TimeUnit

/** The app's screen in a window of the given qualifiers, laid out and, if asked, drawn. */
internal class Screen(
    qualifiers: String = PORTRAIT,
    fontScale: Float = 1f,
    intent: Intent? = null,
    saved: Bundle? = null,
) : AutoCloseable {
    val controller: ActivityController<MainActivity>

    init {
        ShadowChoreographer.setPaused(true) // or what moves would move on until it stands still
        ShadowChoreographer.setFrameDelay(Duration.ofMillis(FRAME))
        RuntimeEnvironment.setQualifiers(qualifiers)
        RuntimeEnvironment.setFontScale(fontScale)
        controller = Robolectric.buildActivity(MainActivity::class.java, intent)
        if (saved == null) controller.setup() else controller.setup(saved)
        idle()
    }

    val activity: MainActivity get() = controller.get()
    val engine: Engine get() = (activity.application as DemoApplication).engine
    val root: View get() = activity.window.decorView
    val texts: List<TextView>
        get() = views().filterIsInstance<TextView>().filter { it.isShown && it.text.isNotEmpty() }.toList()

    /** A state of the test's own; the engine's no longer matter. */
    fun show(tab: Tab, state: UiState) {
        activity.observation?.close()
        activity.go(tab)
        activity.show(state)
        idle()
    }

    inline fun <reified T : View> find(id: Int): T = checkNotNull(activity.findViewById<T>(id)) {
        activity.resources.getResourceName(id)
    }

    fun sees(string: Int): Boolean = texts.any { it.text.toString() == activity.getString(string) }

    fun press(id: Int) {
        find<View>(id).performClick()
        idle()
    }

    fun views(of: View = root): Sequence<View> = sequence {
        yield(of)
        if (of is ViewGroup) for (index in 0 until of.childCount) yieldAll(views(of.getChildAt(index)))
    }

    fun draw(): Bitmap {
        val bitmap = Bitmap.createBitmap(root.width, root.height, Bitmap.Config.ARGB_8888)
        root.draw(Canvas(bitmap))
        return bitmap
    }

    fun waitFor(what: String, condition: () -> Boolean) {
        val end = System.nanoTime() + 20_000_000_000
        while (!condition()) {
            check(System.nanoTime() < end) { "$what did not come in 20 seconds: ${engine.state}" }
            Thread.sleep(5)
            idle()
        }
    }

    override fun close() {
        controller.pause().stop().destroy()
        engine.close()
    }

    companion object {
        const val PORTRAIT = "w360dp-h720dp-port-notnight-hdpi"

        const val FRAME = 16L

        /** Two frames: one to lay out, one to draw what that brought. */
        fun idle() = shadowOf(Looper.getMainLooper()).idleFor(2 * FRAME, TimeUnit.MILLISECONDS)

        fun name(view: View): String {
            val id = if (view.id > 0) view.resources.getResourceEntryName(view.id) else view.javaClass.simpleName
            return if (view is TextView) "$id “${view.text}”" else id
        }

        /** What of the view is in sight; empty if it is scrolled away. */
        fun place(view: View): Rect = Rect().also { if (!view.getGlobalVisibleRect(it)) it.setEmpty() }
    }
}
