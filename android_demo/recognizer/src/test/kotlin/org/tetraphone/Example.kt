package org.tetraphone

import java.io.File

/** The example of docs/embed.md: phones as lines, [piece] samples at a time, as a microphone gives them. */
fun phonesOf(model: File, samples: ShortArray, rate: Int, piece: Int = 1600): List<String> {
    val lines = mutableListOf<String>()
    PhonemeRecognizer(model).use { recognizer ->
        fun show(phones: List<PhonemeRecognizer.Phone>) =
            phones.forEach { lines += "${it.start} ${it.end} ${it.symbol}" }
        for (first in samples.indices step piece) {
            val last = minOf(first + piece, samples.size)
            recognizer.accept(samples.copyOfRange(first, last), last - first, rate)
            show(recognizer.poll())
        }
        recognizer.finish()
        show(recognizer.poll())
    }
    return lines
}
