package org.tetraphone.demo

import android.Manifest
import android.os.SystemClock
import androidx.test.core.app.ActivityScenario
import androidx.test.core.app.ApplicationProvider
import androidx.test.ext.junit.runners.AndroidJUnit4
import androidx.test.platform.app.InstrumentationRegistry
import androidx.test.rule.GrantPermissionRule
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Rule
import org.junit.Test
import org.junit.runner.RunWith
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.demo.ui.MainActivity
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** What only a device can show: the library loads, its instruction sets agree, and the microphone gives sound. */
@RunWith(AndroidJUnit4::class)
class DeviceTest {
    @get:Rule
    val permission: GrantPermissionRule = GrantPermissionRule.grant(Manifest.permission.RECORD_AUDIO)

    private val app: DemoApplication = ApplicationProvider.getApplicationContext()

    @Test
    fun everyModelHearsTheSameWithEveryInstructionSet() {
        val before = PhonemeRecognizer.instructionSet
        try {
            for (model in app.assets.list("models").orEmpty()) {
                val heard = PhonemeRecognizer.instructionSets.map { set ->
                    PhonemeRecognizer.instructionSet = set
                    recognise(model)
                }
                assertTrue("$model hears nothing", heard.first().isNotEmpty())
                assertEquals(model, 1, heard.distinct().size)
            }
        } finally {
            PhonemeRecognizer.instructionSet = before
        }
    }

    @Test
    fun recognitionIsTenTimesFasterThanSpeech() {
        val model = app.assets.list("models").orEmpty().first { "int8" in it }
        val start = SystemClock.elapsedRealtime()
        recognise(model)
        assertTrue(SystemClock.elapsedRealtime() - start < 100 * samples().size / RATE)
    }

    @Test
    fun listensToTheMicrophone() {
        ActivityScenario.launch(MainActivity::class.java).use { scenario ->
            scenario.onActivity { app.engine.listen() }
            waitFor("the microphone") { it.microphone == MicrophoneState.LISTENING && it.live.seconds > 1 }
            scenario.recreate()
            waitFor("sound after a new start of the screen") { it.live.seconds > 2 }
            assertEquals(0L, state().figures?.lostSamples)
            scenario.onActivity { app.engine.stop() }
            waitFor("the end") { it.microphone == MicrophoneState.OFF }
        }
    }

    private fun recognise(model: String): List<PhonemeRecognizer.Phone> {
        val file = File(app.cacheDir, model)
        app.assets.open("models/$model").use { from -> file.outputStream().use { from.copyTo(it) } }
        val samples = samples()
        return PhonemeRecognizer(file).use { recognizer ->
            recognizer.accept(samples, samples.size, RATE)
            recognizer.finish()
            recognizer.poll()
        }
    }

    /** measure.wav is 16-bit mono of this rate, behind a header of 44 bytes. */
    private fun samples(): ShortArray {
        val bytes = app.assets.open("measure.wav").use { it.readBytes() }
        val values = ByteBuffer.wrap(bytes, HEADER, bytes.size - HEADER).order(ByteOrder.LITTLE_ENDIAN).asShortBuffer()
        return ShortArray(values.remaining()).also { values.get(it) }
    }

    private fun state(): UiState {
        lateinit var state: UiState
        InstrumentationRegistry.getInstrumentation().runOnMainSync { state = app.engine.state }
        return state
    }

    private fun waitFor(what: String, condition: (UiState) -> Boolean) {
        val end = SystemClock.elapsedRealtime() + 10_000
        while (!condition(state())) {
            assertTrue("$what did not come in ten seconds: ${state()}", SystemClock.elapsedRealtime() < end)
            SystemClock.sleep(50)
        }
    }

    private companion object {
        const val RATE = 16000
        const val HEADER = 44
    }
}
