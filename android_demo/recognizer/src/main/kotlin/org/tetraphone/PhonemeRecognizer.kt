package org.tetraphone

import java.io.File
import java.io.InputStream
import java.util.logging.Logger

/**
 * Recognises phonemes, offline: samples in, phones with times out. One object is a model and one stream of sound.
 *
 *     PhonemeRecognizer(File(filesDir, "english-int8.pte")).use { recognizer ->
 *         val samples = ShortArray(1600)
 *         while (listening) {
 *             val count = microphone.read(samples, 0, samples.size)
 *             recognizer.accept(samples, count, 16000)
 *             recognizer.poll().forEach { show(it.symbol, it.start, it.end, it.confidence) }
 *         }
 *         recognizer.finish()
 *         recognizer.poll().forEach { show(it.symbol, it.start, it.end, it.confidence) }
 *     }
 *
 * May be used from any threads; calls wait for one another, [close] for a call in progress. After [close] every call
 * throws [IllegalStateException]. What the recogniser refuses throws [RecognizerException]. The meaning of everything
 * is that of native/recognizer/recognizer.h.
 */
class PhonemeRecognizer private constructor(private val recognizer: Long, options: Options) : AutoCloseable {
    private val lock = Any()
    private val model: ModelInfo
    private var stream = 0L // 0: closed

    init {
        try {
            model = readInfo(recognizer)
            val given = options.named()
            stream = Native.open(
                recognizer,
                given.keys.map { it.toByteArray() }.toTypedArray(),
                given.values.map { (it as? Number)?.toDouble() ?: 0.0 }.toDoubleArray(),
                given.values.map { (it as? File)?.path?.toByteArray() }.toTypedArray(),
            )
        } finally {
            if (stream == 0L) Native.closeRecognizer(recognizer)
        }
    }

    /** Maps the file, which must stay as it is while in use. Throws [RecognizerException] that says what is wrong. */
    @JvmOverloads
    constructor(model: File, options: Options = Options()) : this(Native.load(model.path.toByteArray()), options)

    /** Copies the bytes of a model; [name] is for errors. */
    @JvmOverloads
    constructor(model: ByteArray, name: String, options: Options = Options()) :
        this(Native.loadBytes(model, name.toByteArray()), options)

    /** Reads a model whole, and closes the stream, such as `assets.open("english-int8.pte")`; [name] is for errors. */
    @JvmOverloads
    constructor(model: InputStream, name: String, options: Options = Options()) :
        this(model.use { it.readBytes() }, name, options)

    /** What the model's file says of itself. */
    val info: ModelInfo get() = open { model }

    /** Takes [count] samples of each channel, interleaved; any rate (Hz) and channel count, the same in each call. */
    @JvmOverloads
    fun accept(samples: ShortArray, count: Int, rate: Int, channels: Int = 1) = open {
        requireSamples(samples.size, count, channels)
        Native.accept(it, samples, count, rate, channels)
    }

    /** As above, in [-1, 1]. */
    @JvmOverloads
    fun accept(samples: FloatArray, count: Int, rate: Int, channels: Int = 1) = open {
        requireSamples(samples.size, count, channels)
        Native.accept(it, samples, count, rate, channels)
    }

    /** No more samples follow: what was provisional becomes final. */
    fun finish() = open { Native.finish(it) }

    /** As newly made. A stream starts anew by this after [finish] or an error. */
    fun reset() = open { Native.reset(it) }

    /** Phones that nothing to come can change, each given once. */
    fun poll(): List<Phone> = open { phones(Native.poll(it)) }

    /** Phones that would follow if the sound ended now. */
    fun provisional(): List<Phone> = open { phones(Native.provisional(it)) }

    /** Log-mel energies since the last call, [n · info.bands]; empty without [Options.keepBands]. */
    fun bands(): FloatArray = open { Native.bands(it) }

    /** Whether the speaker pauses. */
    val paused: Boolean get() = open { Native.paused(it) }

    /** Seconds of sound taken. */
    val seconds: Double get() = open { Native.seconds(it) }

    /** Frees the memory; a second call does nothing. */
    override fun close() = synchronized(lock) {
        if (stream != 0L) {
            Native.close(stream)
            Native.closeRecognizer(recognizer)
            stream = 0L
        }
    }

    /** A leak is mended as far as that goes, and told: nobody knows when this runs. */
    @Suppress("unused") // by the virtual machine
    protected fun finalize() {
        if (stream == 0L) return
        Logger.getLogger(javaClass.name).warning("a recogniser was never closed: call close(), or use { }")
        close()
    }

    private inline fun <T> open(call: (Long) -> T): T = synchronized(lock) {
        check(stream != 0L) { "the recogniser is closed; make a new one" }
        call(stream)
    }

    private fun requireSamples(size: Int, count: Int, channels: Int) =
        require(count >= 0 && count.toLong() * channels <= size) {
            "$count samples of each of $channels channels, but the array has $size; give a count that fits"
        }

    private fun phones(numbers: DoubleArray) = List(numbers.size / 4) {
        val (index, start, end, confidence) = numbers.asList().subList(4 * it, 4 * it + 4)
        Phone(model.phones[index.toInt()], start, end, confidence)
    }

    /** [confidence]: the chance that the phone is right, 0 to 1; times in seconds. */
    data class Phone(val symbol: String, val start: Double, val end: Double, val confidence: Double)

    /** What the file says of itself; times in seconds. Read by the names in native/common/fields.h. */
    class ModelInfo internal constructor(private val numbers: Map<String, Double>, symbol: (Int) -> String) {
        /** Hz; any other rate is resampled to it. */
        val sampleRate = number("sample_rate").toInt()

        /** Mel bands of a frame of [PhonemeRecognizer.bands]. */
        val bands = number("bands").toInt()

        /** From one such frame to the next. */
        val hop = number("hop")

        /** From one frame of the network to the next: times are multiples of it. */
        val frameShift = number("frame_shift")

        /** Where the network's first frame begins. */
        val frameOffset = number("frame_offset")

        /** From a sound to the moment when the network has heard enough of it. */
        val delay = number("delay")

        /** Whether the file can also say where each phone of known words is. */
        val aligns = number("aligns") != 0.0

        /** Whether it has a head that scores how known words were said. */
        val scores = number("scores") != 0.0

        val fileBytes = number("file_bytes").toLong()

        /** The symbols, mostly of the ARPABET. */
        val phones = List(number("phones").toInt(), symbol)

        override fun toString() = "ModelInfo$numbers"

        private fun number(name: String) = numbers[name]
            ?: throw RecognizerException("the library tells no $name of a model; build both from one version")
    }

    /**
     * null: the default of the C++ recogniser, which alone knows it (native/common/fields.h). Java has a constructor
     * for each number of leading arguments.
     */
    data class Options @JvmOverloads constructor(
        /** Hypotheses that are kept; 0: the best path without a beam. */
        val beam: Int? = null,
        /** Seconds of silence that make a pause. */
        val pause: Double? = null,
        /** Whether log-mel energies are kept for [PhonemeRecognizer.bands]. */
        val keepBands: Boolean = false,
        /** The channel that is heard, counted from 0; by default the mean of all. */
        val channel: Int? = null,
        /** A grammar over the model's phones, a file in OpenFst's text form; it needs a [beam]. */
        val grammar: File? = null,
        /** Weight of the grammar. */
        val grammarScale: Double? = null,
        /** Added for each phone: above 0 more are found; it needs a [beam]. */
        val phoneBonus: Double? = null,
        /** Phones by which hypotheses are told apart. */
        val context: Int? = null,
        /** Added to the blank's score: below 0 more phones are found. */
        val blankShift: Double? = null,
    ) {
        /** What is given, by its name in native/common/fields.h: numbers and files. */
        internal fun named(): Map<String, Any> = listOf(
            "beam" to beam,
            "pause" to pause,
            "keep_bands" to if (keepBands) 1 else 0,
            "channel" to channel,
            "grammar" to grammar,
            "grammar_scale" to grammarScale,
            "phone_bonus" to phoneBonus,
            "context" to context,
            "blank_shift" to blankShift,
        ).mapNotNull { (name, value) -> value?.let { name to it } }.toMap()
    }

    /** Unchecked, for Java as for Kotlin: a wrong file or option, told in one sentence. */
    class RecognizerException(message: String) : RuntimeException(message)

    /** A way in which results are written for other programs; files of it end in [suffix]. */
    data class Format(val name: String, val suffix: String, val help: String)

    companion object {
        /** Instruction sets of this build that the processor has, the best last. */
        @JvmStatic
        val instructionSets: List<String> get() = Native.instructionSets().split(' ')

        /** The set in use by all recognisers of the process; setting one that is not in the list throws. */
        @JvmStatic
        var instructionSet: String
            get() = Native.instructionSet()
            set(value) = require(Native.chooseInstructionSet(value.toByteArray())) {
                "no instruction set $value here; choose of $instructionSets"
            }

        /**
         * Bytes of native heap that recognisers of this process hold, as they count them: buffers, states, tables, and
         * models given as bytes; not a mapped file, and not the allocator's own overhead. Waits for calls in progress.
         */
        @JvmStatic
        val nativeBytes: Long get() = Native.heapBytes()

        /** Those of `tetraphone recognize --format`. */
        @JvmStatic
        val formats: List<Format>
            get() = lines(Native.formats()).map { (name, suffix, help) -> Format(name, suffix, help) }

        /** Phones of the ARPABET, by which models name them, in the International Phonetic Alphabet. */
        @JvmStatic
        val ipa: Map<String, String> get() = lines(Native.alphabet()).associate { (arpabet, ipa) -> arpabet to ipa }

        /**
         * The [phones] of a [recording] of that name and so many [seconds], in the format of that name; [alphabet] is
         * `arpabet` or `ipa`. Throws [RecognizerException] if a name is unknown, or a phone has no IPA.
         */
        @JvmStatic
        @JvmOverloads
        fun write(
            recording: String,
            seconds: Double,
            phones: List<Phone>,
            format: String,
            alphabet: String = "arpabet",
        ): String = String(
            Native.write(
                recording.toByteArray(),
                seconds,
                phones.map { it.symbol.toByteArray() }.toTypedArray(),
                phones.flatMap { listOf(it.start, it.end, it.confidence) }.toDoubleArray(),
                format.toByteArray(),
                alphabet.toByteArray(),
            ),
        )

        private fun lines(text: ByteArray) = String(text).lines().filter { it.isNotEmpty() }.map { it.split('\t') }

        private fun readInfo(recognizer: Long): ModelInfo {
            val names = String(Native.infoNames()).split(' ')
            val numbers = names.zip(Native.info(recognizer).asList()).toMap()
            return ModelInfo(numbers) { String(Native.symbol(recognizer, it)) }
        }
    }

    /** src/main/cpp/jni.cc registers these by name. */
    private object Native {
        init {
            System.loadLibrary("tetraphone_jni")
        }

        external fun load(path: ByteArray): Long
        external fun loadBytes(model: ByteArray, name: ByteArray): Long
        external fun closeRecognizer(recognizer: Long)
        external fun infoNames(): ByteArray
        external fun info(recognizer: Long): DoubleArray
        external fun symbol(recognizer: Long, index: Int): ByteArray
        external fun open(
            recognizer: Long,
            names: Array<ByteArray>,
            numbers: DoubleArray,
            files: Array<ByteArray?>,
        ): Long
        external fun close(stream: Long)
        external fun accept(stream: Long, samples: ShortArray, count: Int, rate: Int, channels: Int)
        external fun accept(stream: Long, samples: FloatArray, count: Int, rate: Int, channels: Int)
        external fun finish(stream: Long)
        external fun reset(stream: Long)
        external fun poll(stream: Long): DoubleArray
        external fun provisional(stream: Long): DoubleArray
        external fun bands(stream: Long): FloatArray
        external fun paused(stream: Long): Boolean
        external fun seconds(stream: Long): Double
        external fun heapBytes(): Long
        external fun formats(): ByteArray
        external fun write(
            recording: ByteArray,
            seconds: Double,
            symbols: Array<ByteArray>,
            numbers: DoubleArray,
            format: ByteArray,
            alphabet: ByteArray,
        ): ByteArray
        external fun alphabet(): ByteArray
        external fun instructionSets(): String
        external fun instructionSet(): String
        external fun chooseInstructionSet(name: ByteArray): Boolean
    }
}
