package org.tetraphone.demo

import android.os.Debug
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Phone

/** Time and memory that recognition takes while it listens; used by the thread that recognises. */
internal class Meter(private val clock: () -> Long = Debug::threadCpuTimeNanos) {
    private val delays = ArrayDeque<Double>()
    private var busy = 0.0
    private var sound = 0.0
    private var newest = 0.0
    private var measured = 0L
    private var processBytes = 0L

    /** Runs [work] on so many seconds of sound, and counts the processor time that it takes. */
    fun <T> time(seconds: Double, work: () -> T): T {
        val before = clock()
        return work().also {
            busy = FORGET * busy + (clock() - before) / 1e9
            sound = FORGET * sound + seconds
        }
    }

    /** [phones] of a stream that began at [start] were known when the microphone had given [captured] seconds. */
    fun seen(phones: List<Phone>, start: Double, captured: Double) {
        val ends = phones.map { start + it.end }
        for (end in ends.filter { it > newest }) delays += maxOf(0.0, captured - end)
        newest = maxOf(newest, ends.lastOrNull() ?: 0.0)
        while (delays.size > DELAYS) delays.removeFirst()
    }

    fun figures(modelBytes: Long, lost: Long): Figures {
        val now = System.nanoTime()
        if (processBytes == 0L || now - measured > MEMORY_NANOS) {
            measured = now
            processBytes = 1024L * Debug.getPss()
        }
        return Figures(
            realTimeFactor = if (sound > 0) busy / sound else 0.0,
            delaySeconds = delays.sorted().getOrNull(delays.size / 2),
            processBytes = processBytes,
            recognizerBytes = PhonemeRecognizer.nativeBytes,
            modelBytes = modelBytes,
            instructionSet = PhonemeRecognizer.instructionSet,
            lostSamples = lost,
        )
    }

    private companion object {
        const val FORGET = 0.98
        const val DELAYS = 50
        const val MEMORY_NANOS = 1_000_000_000L
    }
}
