package org.tetraphone.demo.ui

import android.net.Uri
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Phone
import org.tetraphone.demo.Aligned
import org.tetraphone.demo.BandHistory
import org.tetraphone.demo.Figures
import org.tetraphone.demo.MeasureRow
import org.tetraphone.demo.MeasureState
import org.tetraphone.demo.MicrophoneState
import org.tetraphone.demo.Model
import org.tetraphone.demo.PractiseState
import org.tetraphone.demo.RecordingState
import org.tetraphone.demo.Sound
import org.tetraphone.demo.UiState
import org.tetraphone.demo.Word
import org.tetraphone.demo.readWav
import java.io.File

/** States as the engine gives them, of real sound. */
internal object States {
    private val models = listOf(
        Model("english-int8", 722_960, imported = false),
        Model("english-int4", 409_104, imported = false),
        Model("english-tiny-int8", 283_152, imported = false),
    )

    /** What the model of the app hears in the recording of Measure. */
    val sound: Sound by lazy { recognise(File(System.getProperty("tetraphone.expected"), "measure.wav")) }

    val figures = Figures(
        realTimeFactor = 0.0123,
        delaySeconds = 0.184,
        processBytes = 61_400_000,
        recognizerBytes = 423_000,
        modelBytes = 722_960,
        instructionSet = "dotprod",
        lostSamples = 0,
    )

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
            result = listOf(
                Aligned("SH", "SH"),
                Aligned("IY", "IH"),
                Aligned("P", null),
                Aligned(null, "T"),
            ),
        ),
    )

    val measured = idle.copy(
        measure = MeasureState(
            rows = models.flatMap { model ->
                listOf("scalar" to 0.061, "neon" to 0.019, "dotprod" to 0.0123).map { (set, factor) ->
                    MeasureRow(model.name, set, factor, 22, model.bytes)
                }
            },
        ),
    )

    val measuring = measured.copy(measure = measured.measure.copy(running = true, progress = 0.4f))

    private fun recognise(wav: File): Sound {
        val (samples, rate) = readWav(wav.readBytes())
        val model = checkNotNull(File(System.getProperty("tetraphone.models")).listFiles()).first {
            it.name.endsWith(".pte") && "int8" in it.name && "tiny" !in it.name
        }
        return PhonemeRecognizer(model, PhonemeRecognizer.Options(keepBands = true)).use { recognizer ->
            recognizer.accept(samples, samples.size, rate)
            recognizer.finish()
            val history = BandHistory(recognizer.info.bands, recognizer.info.hop)
            history.append(recognizer.bands())
            val phones: List<Phone> = recognizer.poll()
            Sound(history, history.frames, phones, phones.size, recognizer.seconds)
        }
    }
}
