package org.tetraphone.demo.ui

import android.graphics.Bitmap
import android.graphics.Color
import android.graphics.Rect
import android.graphics.RectF
import android.view.View
import android.view.ViewGroup
import android.widget.HorizontalScrollView
import android.widget.ScrollView
import android.widget.TextView
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.annotation.Config
import org.tetraphone.demo.R
import org.tetraphone.demo.Runner
import org.tetraphone.demo.UiState
import org.tetraphone.demo.ui.NavigationBar.Tab
import kotlin.math.pow

/** Each place, in each language, window, text size and theme: all can be read, told apart and touched. */
@RunWith(Runner::class)
@Config(sdk = [34, 35])
class LayoutTest {
    private val states: List<Pair<Tab, UiState>> = listOf(
        Tab.LISTEN to States.idle,
        Tab.LISTEN to States.listening,
        Tab.LISTEN to States.losing,
        Tab.RECORDINGS to States.idle,
        Tab.RECORDINGS to States.recognising,
        Tab.RECORDINGS to States.recording,
        Tab.PRACTISE to States.idle,
        Tab.PRACTISE to States.practise,
        Tab.MEASURE to States.measuring,
        Tab.MEASURE to States.measured,
        Tab.ABOUT to States.idle,
    )

    private val windows = mapOf(
        "portrait" to "w360dp-h640dp-port",
        "landscape" to "w640dp-h360dp-land",
        "tablet" to "w800dp-h1280dp-port",
        "split" to "w411dp-h300dp-land",
        "narrow split" to "w320dp-h320dp-port",
    )

    @Test
    fun english() = check("en-ldltr", 1f)

    @Test
    fun german() = check("de-ldltr", 1f)

    @Test
    fun rightToLeft() = check("ar-ldrtl", 1f)

    @Test
    fun englishLarge() = check("en-ldltr", 2f)

    @Test
    fun germanLarge() = check("de-ldltr", 2f)

    @Test
    fun rightToLeftLarge() = check("ar-ldrtl", 2f)

    private fun check(language: String, fontScale: Float) {
        val faults = sortedSetOf<String>()
        for ((window, size) in windows) {
            // Themes differ in colours alone.
            val themes = if (window == "portrait") listOf("notnight", "night") else listOf("notnight")
            for (theme in themes) {
                Screen("$language-$size-$theme-mdpi", fontScale).use { screen ->
                    for ((tab, state) in states) {
                        screen.show(tab, state)
                        faults += faults(screen).map { "$window $theme $tab: $it" }
                    }
                }
            }
        }
        assertTrue("\n" + faults.joinToString("\n"), faults.isEmpty())
    }

    private fun faults(screen: Screen): List<String> {
        val texts = screen.texts
        val image = screen.draw()
        return texts.flatMap(::cut) + texts.mapNotNull { contrastFault(it, image) } + overlaps(texts) +
            screen.views().filter { it.isShown && it.isClickable }.flatMap(::touchFaults)
    }

    private fun cut(text: TextView): List<String> {
        val layout = text.layout ?: return listOf("${Screen.name(text)} has no layout")
        val room = text.height - text.compoundPaddingTop - text.compoundPaddingBottom
        val wide = text.width - text.compoundPaddingLeft - text.compoundPaddingRight
        return listOfNotNull(
            "ellipsised".takeIf { (0 until layout.lineCount).any { layout.getEllipsisCount(it) > 0 } },
            "higher than its view: ${layout.height} > $room".takeIf { layout.height > room },
            "wider than its view".takeIf { (0 until layout.lineCount).any { layout.getLineMax(it) > wide + 1 } },
            outside(text)?.let { "cut by ${Screen.name(it)}" },
        ).map { "${Screen.name(text)} is $it" }
    }

    /** The ancestor that cuts off a part of the view, which no scrolling brings back. */
    private fun outside(view: View): ViewGroup? {
        val rect = Rect(0, 0, view.width, view.height)
        var child = view
        while (true) {
            val parent = child.parent as? ViewGroup ?: return null
            rect.offset(child.left, child.top)
            val across = rect.left >= 0 && rect.right <= parent.width
            val down = rect.top >= 0 && rect.bottom <= parent.height
            if ((!across && parent !is HorizontalScrollView) || (!down && parent !is ScrollView)) return parent
            if (parent is ScrollView) rect.set(rect.left, 0, rect.right, parent.height)
            if (parent is HorizontalScrollView) rect.set(0, rect.top, parent.width, rect.bottom)
            child = parent
        }
    }

    private fun overlaps(texts: List<TextView>): List<String> {
        val places = texts.map { it to Screen.place(it) }.filter { !it.second.isEmpty }
        return places.flatMapIndexed { index, (first, place) ->
            places.drop(index + 1).filter { Rect.intersects(place, it.second) }
                .map { (second, _) -> "${Screen.name(first)} overlaps ${Screen.name(second)}" }
        }
    }

    /** Both of the colours that were set, and of the pixels that were drawn. */
    private fun contrastFault(text: TextView, image: Bitmap): String? {
        val place = Screen.place(text)
        if (!place.intersect(0, 0, image.width, image.height)) return null
        val pixels = IntArray(place.width() * place.height())
        image.getPixels(pixels, 0, place.width(), place.left, place.top, place.width(), place.height())
        val background = commonest(pixels)
        val set = contrast(text.currentTextColor, background)
        val drawn = pixels.distinct().maxOf { contrast(it, background) }
        val whole = place.width() == text.width && place.height() == text.height
        if (set >= LEAST_CONTRAST && (drawn >= LEAST_CONTRAST || !whole)) return null
        return "${Screen.name(text)} has contrast $set, drawn $drawn"
    }

    private fun commonest(pixels: IntArray): Int {
        val counts = HashMap<Int, Int>()
        for (pixel in pixels) counts.merge(pixel, 1, Int::plus)
        return counts.maxByOrNull { it.value }!!.key
    }

    private fun touchFaults(view: View): List<String> {
        val least = view.context.size(R.dimen.touch)
        val named = !view.contentDescription.isNullOrEmpty() || (view as? TextView)?.text?.isNotEmpty() == true
        return listOfNotNull(
            "only ${view.width} x ${view.height}".takeIf { view.width < least || view.height < least },
            "without a name".takeIf { !named },
            outside(view)?.let { "cut by ${Screen.name(it)}" },
        ).map { "${Screen.name(view)} is $it" }
    }

    @Test
    fun phonesUnderTheSpectrogramDoNotOverlap() {
        for (fontScale in listOf(1f, 2f)) {
            Screen("w360dp-h640dp-notnight-mdpi", fontScale).use { screen ->
                for (ipa in listOf(false, true)) {
                    screen.activity.ipa = ipa
                    screen.show(Tab.LISTEN, States.listening)
                    checkLabels(screen.find(R.id.spectrogram))
                }
            }
        }
    }

    private fun checkLabels(view: SpectrogramView) {
        val labels = view.labels()
        assertTrue("no phone is in view", labels.isNotEmpty())
        for ((index, label) in labels.withIndex()) {
            assertTrue("${label.text} is cut", label.box.bottom <= view.height)
            val overlapping = labels.drop(index + 1).filter { RectF.intersects(label.box, it.box) }
            assertTrue("${label.text} overlaps ${overlapping.map { it.text }}", overlapping.isEmpty())
        }
    }

    /** The least certain phone, and the lit one. */
    @Test
    fun phonesUnderTheSpectrogramStandOut() {
        for (theme in listOf("notnight", "night")) {
            Screen("w360dp-h640dp-$theme-mdpi").use { screen ->
                fun colour(id: Int) = screen.activity.getColor(id)
                assertTrue(contrast(colour(R.color.text_faint), colour(R.color.surface)) >= LEAST_CONTRAST)
                assertTrue(contrast(colour(R.color.on_accent), colour(R.color.accent)) >= LEAST_CONTRAST)
            }
        }
    }

    @Test
    fun theColourMapGrowsEvenlyLighter() {
        val steps = (0..255).map { luminance(ColourMap.colour(it / 255f)) }
        assertTrue(steps.zipWithNext().all { (low, high) -> high >= low })
        assertEquals(Color.rgb(0x44, 0x01, 0x54), ColourMap.colour(-1f))
        assertEquals(Color.rgb(0xFD, 0xE7, 0x25), ColourMap.colour(2f))
    }

    private companion object {
        const val LEAST_CONTRAST = 4.5

        fun contrast(first: Int, second: Int): Double {
            val (low, high) = listOf(luminance(first), luminance(second)).sorted()
            return (high + 0.05) / (low + 0.05)
        }

        /** Relative luminance, as the Web Content Accessibility Guidelines define it. */
        fun luminance(colour: Int): Double = listOf(
            0.2126 to Color.red(colour),
            0.7152 to Color.green(colour),
            0.0722 to Color.blue(colour),
        ).sumOf { (weight, part) -> weight * linear(part / 255.0) }

        fun linear(part: Double): Double = if (part <= 0.03928) part / 12.92 else ((part + 0.055) / 1.055).pow(2.4)
    }
}
