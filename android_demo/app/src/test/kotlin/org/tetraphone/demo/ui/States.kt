package org.tetraphone.demo.ui

import android.net.Uri
import org.robolectric.RuntimeEnvironment
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Phone
import org.tetraphone.demo.BandHistory
import org.tetraphone.demo.Figures
import org.tetraphone.demo.MeasureState
import org.tetraphone.demo.Meter
import org.tetraphone.demo.MicrophoneState
import org.tetraphone.demo.Model
import org.tetraphone.demo.Models
import org.tetraphone.demo.PractiseState
import org.tetraphone.demo.RecordingState
import org.tetraphone.demo.Sound
import org.tetraphone.demo.UiState
import org.tetraphone.demo.Word
import org.tetraphone.demo.align
import org.tetraphone.demo.measure
import org.tetraphone.demo.readWav
import java.io.File
import java.lang.management.ManagementFactory

/** States as the engine gives them, of real sound. */
internal object States {
    private val models = listOf(
        Model("english-int8", 722_960, imported = false),
        Model("english-int4", 409_104, imported = false),
        Model("english-tiny-int8", 283_152, imported = false),
    )

    /** What the model of the app hears in the recording of Measure, and what that costs on this machine. */
    private val recognised by lazy { recognise(File(System.getProperty("tetraphone.expected"), "measure.wav")) }

    val sound: Sound get() = recognised.first

    val figures: Figures get() = recognised.second

    val idle = UiState(models = models, model = models[0])

    val listening by lazy {
        idle.copy(microphone = MicrophoneState.LISTENING, live = sound, figures = figures)
    }

    val losing by lazy {
        listening.copy(
            figures = figures.copy(lostSamples = 12_800),
            error = "weather.pte: not an ExecuTorch program (it starts with 'PK'); choose a file of tetraphone export",
        )
    }

    val recording by lazy {
        val phones = sound.phones
        idle.copy(
            recording = RecordingState(
                name = "She sells sea shells.m4a",
                uri = Uri.parse("content://recordings/1"),
                progress = 1f,
                sound = sound,
                durationSeconds = sound.seconds,
                playing = true,
                position = phones[phones.size / 3].run { (start + end) / 2 },
            ),
        )
    }

    val recognising by lazy { recording.copy(recording = recording.recording?.copy(progress = 0.43f, playing = false)) }

    val practise = idle.copy(
        practise = PractiseState(
            Word("sheep", listOf("SH", "IY", "P"), "ship"),
            listening = false,
            result = align(listOf("SH", "IY", "P"), listOf("SH", "IH", "P", "T")),
        ),
    )

    /** On this machine, like the rest. */
    val measured by lazy {
        val app = RuntimeEnvironment.getApplication()
        val files = Models(app).apply { unpack() }
        var done = MeasureState()
        measure(app, files, { true }, ::processorNanos) { done = it }
        idle.copy(models = files.list(), measure = done)
    }

    val measuring by lazy { measured.copy(measure = measured.measure.copy(running = true, progress = 0.4f)) }

    /** Of this thread; Robolectric's own clock stands still. */
    private fun processorNanos() = ManagementFactory.getThreadMXBean().currentThreadCpuTime

    private fun recognise(wav: File): Pair<Sound, Figures> {
        val (samples, rate) = readWav(wav.readBytes())
        val model = checkNotNull(File(System.getProperty("tetraphone.models")).listFiles()).first {
            it.name.endsWith(".pte") && "int8" in it.name && "tiny" !in it.name
        }
        return PhonemeRecognizer(model, PhonemeRecognizer.Options(keepBands = true)).use { recognizer ->
            val meter = Meter(::processorNanos)
            meter.time(samples.size / rate.toDouble()) {
                recognizer.accept(samples, samples.size, rate)
                recognizer.finish()
            }
            val history = BandHistory(recognizer.info.bands, recognizer.info.hop)
            history.append(recognizer.bands())
            val phones: List<Phone> = recognizer.poll()
            val figures = meter.figures(recognizer.info.fileBytes, 0).copy(delaySeconds = recognizer.info.delay)
            Sound(history, history.frames, phones, phones.size, recognizer.seconds) to figures
        }
    }
}
