package org.tetraphone

import java.io.File

/**
 * Recognises phonemes, offline: samples in, phones with times out. One object is a model and one stream of sound.
 *
 *     PhonemeRecognizer(File(filesDir, "qlstm-int8.pte")).use { recognizer ->
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
    constructor(model: File, options: Options = Options()) : this(Native.load(model.path.toByteArray()), options)

    /** Copies the bytes of a model; [name] is for errors. */
    constructor(model: ByteArray, name: String, options: Options = Options()) :
        this(Native.loadBytes(model, name.toByteArray()), options)

    val info: ModelInfo get() = open { model }

    /** Takes [count] samples of each channel, interleaved; any rate (Hz) and channel count, the same in each call. */
    fun accept(samples: ShortArray, count: Int, rate: Int, channels: Int = 1) = open {
        requireSamples(samples.size, count, channels)
        Native.accept(it, samples, count, rate, channels)
    }

    /** As above, in [-1, 1]. */
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
        val sampleRate = number("sample_rate").toInt()
        val bands = number("bands").toInt()
        val hop = number("hop")
        val frameShift = number("frame_shift")
        val frameOffset = number("frame_offset")
        val delay = number("delay")
        val aligns = number("aligns") != 0.0
        val fileBytes = number("file_bytes").toLong()
        val phones = List(number("phones").toInt(), symbol)

        override fun toString() = "ModelInfo$numbers"

        private fun number(name: String) = numbers[name]
            ?: throw RecognizerException("the library tells no $name of a model; build both from one version")
    }

    /**
     * null: the default of the C++ recogniser, which alone knows it. [grammar] is a file in OpenFst's text form, over
     * the model's phones; it and [phoneBonus] need a [beam]. [channel] is the one that is heard, counted from 0; by
     * default the mean of all. The rest is explained in native/common/fields.h.
     */
    data class Options(
        val beam: Int? = null,
        val pause: Double? = null,
        val keepBands: Boolean = false,
        val channel: Int? = null,
        val grammar: File? = null,
        val grammarScale: Double? = null,
        val phoneBonus: Double? = null,
        val context: Int? = null,
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

    class RecognizerException(message: String) : Exception(message)

    companion object {
        /** Instruction sets of this build that the processor has, the best last. */
        val instructionSets: List<String> get() = Native.instructionSets().split(' ')

        /** The set in use by all recognisers of the process; setting one that is not in the list throws. */
        var instructionSet: String
            get() = Native.instructionSet()
            set(value) = require(Native.chooseInstructionSet(value.toByteArray())) {
                "no instruction set $value here; choose of $instructionSets"
            }

        /**
         * Bytes of native heap that recognisers of this process hold, as they count them: buffers, states, tables, and
         * models given as bytes; not a mapped file, and not the allocator's own overhead. Waits for calls in progress.
         */
        val nativeBytes: Long get() = Native.heapBytes()

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
        external fun instructionSets(): String
        external fun instructionSet(): String
        external fun chooseInstructionSet(name: ByteArray): Boolean
    }
}
