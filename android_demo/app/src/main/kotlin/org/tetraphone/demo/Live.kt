package org.tetraphone.demo

import android.content.Context
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Phone
import org.tetraphone.PhonemeRecognizer.RecognizerException

/** The microphone's sound through the model in use, into the state; one thread while it listens. */
internal class Live(private val context: Context, private val store: Store) : AutoCloseable {
    private val lock = Any() // covers recognizer, model and what belongs to its stream
    private var recognizer: PhonemeRecognizer? = null
    private var modelBytes = 0L
    private var phones = emptyList<Phone>()
    private var bands = BandHistory(0, 0.0)
    private var before = 0.0 // seconds of sound before the stream's start
    private var missed = 0L // samples that came before there was a recogniser
    private var capture: Capture? = null
    private var worker: Thread? = null

    /** From the next samples on; the one in use is closed. */
    fun use(fresh: PhonemeRecognizer, model: Model) = synchronized(lock) {
        before += recognizer?.seconds ?: 0.0
        recognizer?.close()
        recognizer = fresh
        modelBytes = model.bytes
        begin(fresh)
        store.update { copy(model = model, live = sound()) }
    }

    /** Listens until [stop] or, with [untilPause], until the speaker pauses; [done] takes all final phones then. */
    fun start(untilPause: Boolean, done: (List<Phone>) -> Unit = {}) {
        stop()
        synchronized(lock) {
            before = 0.0
            missed = 0
            recognizer?.let { recognizer ->
                recognizer.reset()
                begin(recognizer)
                store.update { copy(live = sound()) }
            }
        }
        val capture = Capture(context) { store.update { copy(microphone = it) } }
        this.capture = capture
        worker = Thread({ run(capture, untilPause, done) }, "recogniser").apply { start() }
    }

    /** Releases the microphone; what it gave before is recognised. */
    fun stop() {
        capture?.close()
        worker?.join()
        capture = null
        worker = null
    }

    override fun close() {
        stop()
        synchronized(lock) {
            recognizer?.close()
            recognizer = null
        }
    }

    private fun run(capture: Capture, untilPause: Boolean, done: (List<Phone>) -> Unit) {
        val meter = Meter()
        val samples = ShortArray(PIECE)
        while (true) {
            val count = capture.ring.take(samples)
            if (count == 0) break
            val paused = synchronized(lock) { accept(samples, count, capture, meter) }
            if (paused && untilPause) break
        }
        synchronized(lock) { finish() }
        done(phones)
        if (untilPause) Thread(capture::close).start() // which waits for nobody but the microphone's thread
    }

    /** Whether the speaker pauses, or has had long enough for a word. */
    private fun accept(samples: ShortArray, count: Int, capture: Capture, meter: Meter): Boolean {
        val recognizer = recognizer
        if (recognizer == null) { // still being loaded
            before += count.toDouble() / capture.rate
            missed += count
            return false
        }
        try {
            val (final, provisional) = meter.time(count.toDouble() / capture.rate) {
                recognizer.accept(samples, count, capture.rate)
                recognizer.poll() to recognizer.provisional()
            }
            bands.append(recognizer.bands())
            phones = (phones + final).takeLast(PHONES)
            meter.seen(phones + provisional, before, capture.ring.written.toDouble() / capture.rate)
            val figures = meter.figures(modelBytes, capture.ring.lost + missed)
            store.update { copy(live = sound(provisional), figures = figures) }
            return recognizer.paused || recognizer.seconds > WORD_SECONDS
        } catch (failure: RecognizerException) {
            store.update { copy(error = failure.message) }
            recognizer.reset()
            return false
        }
    }

    private fun finish() {
        val recognizer = recognizer ?: return
        recognizer.finish()
        bands.append(recognizer.bands())
        phones = phones + recognizer.poll()
        store.update { copy(live = sound()) }
    }

    private fun begin(recognizer: PhonemeRecognizer) {
        phones = emptyList()
        val kept = 2 * KEPT_SECONDS / recognizer.info.hop
        bands = BandHistory(recognizer.info.bands, recognizer.info.hop, kept.toInt())
    }

    private fun sound(provisional: List<Phone> = emptyList()) =
        Sound(bands, bands.frames, phones + provisional, phones.size, recognizer?.seconds ?: 0.0)

    private companion object {
        /** Samples at a time: 20 ms at 16 kHz. */
        const val PIECE = 320

        /** A word takes no longer, whatever noise goes on behind it. */
        const val WORD_SECONDS = 8.0

        /** Of the spectrogram: more than the widest screen shows. */
        const val KEPT_SECONDS = 30.0

        /** Phones to keep: more than the spectrogram shows. */
        const val PHONES = 400
    }
}
