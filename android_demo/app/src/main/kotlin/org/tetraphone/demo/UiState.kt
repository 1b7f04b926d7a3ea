package org.tetraphone.demo

import android.net.Uri
import org.tetraphone.PhonemeRecognizer.Phone

/** All that the screen shows. The engine publishes a new one for each change; nothing in it ever changes. */
data class UiState(
    val microphone: MicrophoneState = MicrophoneState.OFF,
    val models: List<Model> = emptyList(),
    /** The one in use; null until it is loaded. */
    val model: Model? = null,
    /** Why a model, a recording or the microphone was refused; shown until dismissed. */
    val error: String? = null,
    val live: Sound = Sound(),
    val figures: Figures? = null,
    val recording: RecordingState? = null,
    val practise: PractiseState? = null,
    val measure: MeasureState = MeasureState(),
)

enum class MicrophoneState {
    OFF,
    LISTENING,

    /** Another app has it; taken up again when it is free. */
    BUSY,

    /** Android gives silence, to an app in the background or during a call. */
    SILENCED,

    /** Was withdrawn while listening, or never given. */
    NO_PERMISSION,

    /** The device has none, or it fails. */
    FAILED,
}

/** A model file: from the assets, or copied into private storage from elsewhere. */
data class Model(val name: String, val bytes: Long, val imported: Boolean)

/** Sound as recognised: what a spectrogram and a row of phones need. */
data class Sound(
    /** Log-mel energies, the newest last; shared, and only ever appended to. */
    val bands: BandHistory = BandHistory(0, 0.01),
    /** Bands that belong to this state. */
    val frames: Int = 0,
    /** Final phones, then provisional ones, in order of time. */
    val phones: List<Phone> = emptyList(),
    val finalPhones: Int = 0,
    val seconds: Double = 0.0,
    /** Phones before these that are not kept: where the first one stands in the running count. */
    val forgotten: Int = 0,
)

data class Figures(
    /** Processor time over sound time: 0.01 is a hundred times faster than speech. */
    val realTimeFactor: Double,
    /** Seconds from a sound to its symbol on the screen, median of the last. */
    val delaySeconds: Double?,
    /** Of the whole process, as the system counts it (PSS). */
    val processBytes: Long,
    /** Native heap of the recogniser. */
    val recognizerBytes: Long,
    val modelBytes: Long,
    val instructionSet: String,
    /** Samples that the ring had no room for, since listening began. */
    val lostSamples: Long,
)

data class RecordingState(
    val name: String,
    val uri: Uri,
    /** Of decoding and recognition, 0 to 1; 1 when done. */
    val progress: Float,
    val sound: Sound = Sound(),
    val durationSeconds: Double? = null,
    val playing: Boolean = false,
    /** Seconds. */
    val position: Double = 0.0,
)

/** A word to say, with its expected phones (ARPABET), and the word it is easily taken for. */
data class Word(val text: String, val phones: List<String>, val contrast: String?)

data class PractiseState(
    val word: Word,
    val listening: Boolean,
    /** Null until something was said. */
    val result: List<Aligned>? = null,
)

/** A place of an alignment: expected and heard are equal (right) or differ, or one is null (missed, added). */
data class Aligned(val expected: String?, val heard: String?)

data class MeasureState(
    val running: Boolean = false,
    val progress: Float = 0f,
    val rows: List<MeasureRow> = emptyList(),
)

data class MeasureRow(
    val model: String,
    val instructionSet: String,
    /** Median of several runs. */
    val realTimeFactor: Double,
    /** Seconds from a sound to its phone, by the model's own looking ahead. */
    val delay: Double,
    val phones: Int,
    /** Native heap of the recogniser. */
    val recognizerBytes: Long,
    val modelBytes: Long,
)
