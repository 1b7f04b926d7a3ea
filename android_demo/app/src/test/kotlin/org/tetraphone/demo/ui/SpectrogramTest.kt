package org.tetraphone.demo.ui

import android.graphics.Insets
import android.os.Looper
import android.os.SystemClock
import android.view.MotionEvent
import android.view.View
import android.view.ViewGroup
import android.view.WindowInsets
import android.widget.HorizontalScrollView
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.Shadows.shadowOf
import org.robolectric.annotation.Config
import org.tetraphone.PhonemeRecognizer.Phone
import org.tetraphone.demo.R
import org.tetraphone.demo.Runner
import org.tetraphone.demo.ui.NavigationBar.Tab
import java.util.concurrent.TimeUnit

@RunWith(Runner::class)
@Config(sdk = [34, 35])
class SpectrogramTest {
    @Test
    fun liveSoundMovesEvenlyBetweenStates() = Screen().use { screen ->
        val early = States.listening.run { copy(live = live.copy(frames = 200, seconds = 2.0, phones = emptyList())) }
        screen.show(Tab.LISTEN, early)
        val view = screen.find<SpectrogramView>(R.id.spectrogram)
        assertEquals(view.width.toFloat(), view.x(2.0), 1f)
        screen.draw()
        screen.activity.show(early.copy(live = early.live.copy(frames = 210, seconds = 2.1)))
        val places = (1..6).map {
            shadowOf(Looper.getMainLooper()).idleFor(16, TimeUnit.MILLISECONDS)
            screen.draw()
            view.x(2.0)
        }
        assertTrue("$places", places.zipWithNext().all { (one, next) -> next <= one })
        assertTrue("$places", places.distinct().size > 3)
        assertTrue("$places", places.last() >= view.width - (view.x(1.0) - view.x(0.9)) - 1)
    }

    @Test
    fun aRecordingIsAsWideAsItIsLongInEveryLanguage() {
        for (language in listOf("en-ldltr", "ar-ldrtl")) {
            Screen("$language-w360dp-h640dp-mdpi").use { screen ->
                screen.show(Tab.RECORDINGS, States.recording)
                val view = screen.find<SpectrogramView>(R.id.spectrogram)
                val strip = screen.find<HorizontalScrollView>(R.id.recording_scroll)
                val sound = States.sound
                assertEquals(view.width.toFloat(), view.x(sound.seconds), 1f)
                assertTrue(view.width > strip.width)
                val lit = view.labels().filter { it.lit }.map { it.phone }
                assertEquals(listOf(sound.phones[sound.phones.size / 3]), lit)
                strip.scrollTo(view.width, 0)
                assertEquals(sound.phones.last(), view.labels().last().phone)
            }
        }
    }

    @Test
    fun phonesKeepTheirLineWhenOlderOnesAreForgotten() = Screen().use { screen ->
        val sound = States.sound
        fun lines(from: Int): Map<Phone, Float> {
            val live = sound.copy(phones = sound.phones.drop(from), forgotten = from)
            screen.show(Tab.LISTEN, States.listening.copy(live = live))
            return screen.find<SpectrogramView>(R.id.spectrogram).labels().associate { it.phone to it.box.top }
        }
        val odd = (sound.phones.size - 5) / 2 * 2 + 1 // or two lines would not tell
        val (all, later) = lines(0) to lines(odd)
        assertTrue("$later", later.size > 2)
        for ((phone, top) in later) assertEquals(all[phone], top)
    }

    @Test
    fun aTapSeeks() = Screen().use { screen ->
        screen.show(Tab.RECORDINGS, States.recording)
        val view = screen.find<SpectrogramView>(R.id.spectrogram)
        val seconds = mutableListOf<Double>()
        view.onTap = { seconds += it }
        val now = SystemClock.uptimeMillis()
        for (action in listOf(MotionEvent.ACTION_DOWN, MotionEvent.ACTION_UP)) {
            view.dispatchTouchEvent(MotionEvent.obtain(now, now, action, view.x(1.5), 20f, 0))
        }
        Screen.idle()
        assertEquals(1.5, seconds.single(), 0.02)
    }

    @Test
    fun nothingLiesUnderBarsAndCutouts() {
        for (window in listOf("w360dp-h640dp-port", "w640dp-h360dp-land", "ldrtl-w640dp-h360dp-land")) {
            Screen("$window-mdpi").use { screen ->
                val content = screen.find<ViewGroup>(android.R.id.content).getChildAt(0)
                val insets = WindowInsets.Builder()
                    .setInsets(WindowInsets.Type.statusBars(), Insets.of(0, 24, 0, 0))
                    .setInsets(WindowInsets.Type.navigationBars(), Insets.of(0, 0, 0, 32))
                    .setInsets(WindowInsets.Type.displayCutout(), Insets.of(40, 0, 20, 0))
                    .build()
                content.dispatchApplyWindowInsets(insets)
                screen.show(Tab.LISTEN, States.losing)
                val views = screen.views().filter { it.isShown }
                    .filter { it.isClickable || it.id == R.id.spectrogram }.toList()
                assertTrue(views.size > 8)
                for (view in views) {
                    val place = Screen.place(view)
                    val free = place.left >= 40 && place.right <= screen.root.width - 20
                    assertTrue("$window ${Screen.name(view)} $place", place.isEmpty || (free && inHeight(view, screen)))
                }
            }
        }
    }

    private fun inHeight(view: View, screen: Screen) =
        Screen.place(view).run { top >= 24 && bottom <= screen.root.height - 32 }
}
