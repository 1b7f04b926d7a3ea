package org.tetraphone.demo

import android.content.Context
import android.os.Debug
import org.tetraphone.PhonemeRecognizer
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** The bundled recording through every model and instruction set; blocks. */
internal fun measure(context: Context, models: Models, progress: (MeasureState) -> Unit) {
    val (samples, rate) = readWav(context.assets.open("measure.wav").use { it.readBytes() })
    val inUse = PhonemeRecognizer.instructionSet
    val turns = models.list().flatMap { model -> PhonemeRecognizer.instructionSets.map { model to it } }
    val rows = mutableListOf<MeasureRow>()
    try {
        for ((model, set) in turns) {
            progress(MeasureState(true, rows.size.toFloat() / turns.size, rows.toList()))
            PhonemeRecognizer.instructionSet = set
            rows += models.open(model).use { recognizer ->
                val before = Debug.threadCpuTimeNanos()
                recognizer.accept(samples, samples.size, rate)
                recognizer.finish()
                val phones = recognizer.poll().size
                val seconds = (Debug.threadCpuTimeNanos() - before) / 1e9
                MeasureRow(model.name, set, seconds / recognizer.seconds, phones, model.bytes)
            }
        }
    } finally {
        PhonemeRecognizer.instructionSet = inUse
        progress(MeasureState(false, 1f, rows.toList()))
    }
}

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
