package org.tetraphone.demo

import android.content.Context
import android.os.Debug
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Options
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder

/**
 * The bundled recording through every model and instruction set: once to warm up, then [REPEATS] times, of which the
 * median counts. Blocks, until it is done or no longer [wanted]. Instruction sets are the process's: nothing else may
 * recognise meanwhile.
 */
internal fun measure(
    context: Context,
    models: Models,
    wanted: () -> Boolean,
    clock: () -> Long = Debug::threadCpuTimeNanos,
    progress: (MeasureState) -> Unit,
) {
    val (samples, rate) = readWav(context.assets.open("measure.wav").use { it.readBytes() })
    val inUse = PhonemeRecognizer.instructionSet
    val turns = models.list().flatMap { model -> PhonemeRecognizer.instructionSets.map { model to it } }
    val rows = mutableListOf<MeasureRow>()
    try {
        for ((model, set) in turns) {
            PhonemeRecognizer.instructionSet = set
            val before = PhonemeRecognizer.nativeBytes
            models.open(model, Options()).use { recognizer ->
                val runs = (0..REPEATS).map { turn ->
                    val done = rows.size + turn / (REPEATS + 1f)
                    progress(MeasureState(true, done / turns.size, rows.toList()))
                    if (!wanted()) return
                    run(recognizer, samples, rate, clock)
                }
                val seconds = runs.drop(1).map { it.first }.sorted()[REPEATS / 2]
                val bytes = PhonemeRecognizer.nativeBytes - before
                rows += MeasureRow(
                    model.name,
                    set,
                    seconds / recognizer.seconds,
                    recognizer.info.delay,
                    runs.last().second,
                    bytes,
                    model.bytes,
                )
            }
        }
    } finally {
        PhonemeRecognizer.instructionSet = inUse
        progress(MeasureState(false, 1f, rows.toList()))
    }
}

/** Seconds of processor time, and how many phones. */
private fun run(recognizer: PhonemeRecognizer, samples: ShortArray, rate: Int, clock: () -> Long): Pair<Double, Int> {
    recognizer.reset()
    val before = clock()
    recognizer.accept(samples, samples.size, rate)
    recognizer.finish()
    val phones = recognizer.poll().size
    return (clock() - before) / 1e9 to phones
}

private const val REPEATS = 5

/** The samples and the rate (Hz) of a WAV file of our own: 16 bit, one channel. */
internal fun readWav(bytes: ByteArray): Pair<ShortArray, Int> {
    val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    var rate = 0
    var position = 12
    while (position + 8 <= bytes.size) {
        val name = String(bytes, position, 4, Charsets.US_ASCII)
        val size = buffer.getInt(position + 4)
        if (name == "fmt ") rate = buffer.getInt(position + 12)
        if (name == "data") {
            buffer.position(position + 8)
            return ShortArray(size / 2).also { buffer.asShortBuffer().get(it) } to rate
        }
        position += 8 + size + size % 2
    }
    throw IOException("measure.wav has no data")
}
