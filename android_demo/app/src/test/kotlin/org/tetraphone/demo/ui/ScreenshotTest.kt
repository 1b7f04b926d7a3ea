package org.tetraphone.demo.ui

import android.Manifest
import android.graphics.Bitmap
import android.graphics.Color
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RuntimeEnvironment
import org.robolectric.Shadows.shadowOf
import org.tetraphone.demo.Runner
import org.tetraphone.demo.UiState
import org.tetraphone.demo.ui.NavigationBar.Tab
import java.awt.image.BufferedImage
import java.awt.image.DataBuffer
import java.awt.image.IndexColorModel
import java.io.File
import javax.imageio.ImageIO

/** Pictures for the README, drawn by Android's own graphics; `make screenshots` keeps them. */
@RunWith(Runner::class)
class ScreenshotTest {
    @Test
    fun listeningLight() = shoot("listening-light", Tab.LISTEN, States.listening)

    @Test
    fun listeningDark() = shoot("listening-dark", Tab.LISTEN, States.listening, PORTRAIT.replace("notnight", "night"))

    @Test
    fun recording() = shoot("recording", Tab.RECORDINGS, States.recording)

    @Test
    fun practise() = shoot("practise", Tab.PRACTISE, States.practise)

    @Test
    fun measure() = shoot("measure", Tab.MEASURE, States.measured)

    @Test
    fun about() = shoot("about", Tab.ABOUT, States.idle)

    @Test
    fun landscape() = shoot("landscape", Tab.LISTEN, States.listening, "w720dp-h360dp-land-notnight-hdpi")

    @Test
    fun largeText() = shoot("large-text", Tab.LISTEN, States.listening, fontScale = 2f)

    @Test
    fun permissionRefused() = shoot("permission-refused", Tab.LISTEN, States.idle, granted = false)

    private fun shoot(
        name: String,
        tab: Tab,
        state: UiState,
        qualifiers: String = PORTRAIT,
        fontScale: Float = 1f,
        granted: Boolean = true,
    ) {
        val app = RuntimeEnvironment.getApplication()
        if (granted) {
            shadowOf(app).grantPermissions(Manifest.permission.RECORD_AUDIO)
        } else {
            shadowOf(app.packageManager).setShouldShowRequestPermissionRationale(Manifest.permission.RECORD_AUDIO, true)
        }
        Screen(qualifiers, fontScale).use { screen ->
            screen.show(tab, state)
            val image = screen.draw()
            val colours = IntArray(image.width * image.height)
            image.getPixels(colours, 0, image.width, 0, 0, image.width, image.height)
            assertTrue("nothing is drawn", colours.toSet().size > 50)
            save(image, name)
        }
    }

    private fun save(image: Bitmap, name: String) {
        val folder = File(System.getProperty("tetraphone.screenshots") ?: return)
        folder.mkdirs()
        val file = File(folder, "$name.png")
        ImageIO.write(inFewColours(image), "png", file)
        assertTrue("$file has ${file.length()} bytes", file.length() <= 150_000)
    }

    /** Half the colours of a palette for the spectrogram, half for the commonest others: a third of the bytes. */
    private fun inFewColours(image: Bitmap): BufferedImage {
        val pixels = IntArray(image.width * image.height)
        image.getPixels(pixels, 0, image.width, 0, 0, image.width, image.height)
        val counts = pixels.toList().groupingBy { it }.eachCount()
        val common = counts.keys.sortedByDescending { counts[it] }.take(128)
        val palette = (common + (0..127).map { ColourMap.colour(it / 127f) }).distinct().toIntArray()
        val nearest = counts.keys.associateWith { colour ->
            palette.indices.minByOrNull { distance(palette[it], colour) }!!
        }
        val model = IndexColorModel(8, palette.size, palette, 0, false, -1, DataBuffer.TYPE_BYTE)
        val result = BufferedImage(image.width, image.height, BufferedImage.TYPE_BYTE_INDEXED, model)
        val indices = IntArray(pixels.size) { nearest.getValue(pixels[it]) }
        result.raster.setPixels(0, 0, image.width, image.height, indices)
        return result
    }

    private fun distance(first: Int, second: Int): Int {
        val red = Color.red(first) - Color.red(second)
        val green = Color.green(first) - Color.green(second)
        val blue = Color.blue(first) - Color.blue(second)
        return red * red + green * green + blue * blue
    }

    private companion object {
        const val PORTRAIT = Screen.PORTRAIT
    }
}
