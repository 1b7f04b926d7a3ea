package org.tetraphone.demo

import android.content.Context
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Phone
import org.tetraphone.PhonemeRecognizer.RecognizerException
import java.util.concurrent.Future

/** The microphone's sound through the model in use, into the state; one thread while it listens. No call waits. */
internal class Live(private val context: Context, private val store: Store) : AutoCloseable {
    private val lock = Object() // covers all that follows
    private var recognizer: PhonemeRecognizer? = null
    private var modelBytes = 0L
    private var phones = emptyList<Phone>()
    private var forgotten = 0 // phones of the stream that are not kept any more
    private var bands = BandHistory(0, 0.0)
    private var before = 0.0 // seconds of sound before the stream's start
    private var session: Session? = null

    /** From the next samples on; the one in use is closed. */
    fun use(fresh: PhonemeRecognizer, model: Model) = synchronized(lock) {
        before += recognizer?.seconds ?: 0.0
        recognizer?.close()
        recognizer = fresh
        modelBytes = model.bytes
        begin(fresh)
        store.update { copy(model = model, live = sound()) }
        lock.notifyAll()
    }

    /**
     * Listens, when [after] is done, until [stop] or, with [untilPause], until the speaker pauses; [done] takes all
     * final phones then.
     */
    fun start(untilPause: Boolean, after: Future<*>?, done: (List<Phone>) -> Unit = {}) = synchronized(lock) {
        stop()
        session = Session(session, untilPause, after, done).apply { thread.start() }
    }

    /** Releases the microphone; what it gave before is recognised, and then the state says that it is off. */
    fun stop() = synchronized(lock) {
        session?.end()
        lock.notifyAll()
    }

    override fun close() {
        val last = synchronized(lock) {
            stop()
            session
        }
        last?.thread?.join()
        synchronized(lock) {
            recognizer?.close()
            recognizer = null
        }
    }

    /** Waits for the end of listening. */
    fun join() = synchronized(lock) { session }?.thread?.join()

    /** From a press of Start to the end of listening; begins when the one before has ended and a model is loaded. */
    private inner class Session(
        private var previous: Session?,
        private val untilPause: Boolean,
        private val after: Future<*>?,
        private val done: (List<Phone>) -> Unit,
    ) {
        val thread = Thread(::run, "recogniser")
        private var capture: Capture? = null
        private var failed = false
        private var ended = false

        /** Under the lock. */
        fun end() {
            ended = true
            capture?.close()
        }

        private fun run() {
            previous?.thread?.join()
            previous = null
            after?.get()
            val capture = synchronized(lock) { open() }
            if (capture != null) listen(capture)
            val heard = synchronized(lock) {
                finish()
                phones
            }
            done(heard)
            synchronized(lock) {
                if (!failed) store.update { copy(microphone = MicrophoneState.OFF) }
                if (session === this) session = null
            }
        }

        /** Once there is a model: nothing is lost before. Null if it was ended until then. */
        private fun open(): Capture? {
            while (recognizer == null && !ended) lock.wait()
            val recognizer = recognizer?.takeUnless { ended } ?: return null
            before = 0.0
            recognizer.reset()
            begin(recognizer)
            store.update { copy(live = sound()) }
            return Capture(context) { state ->
                if (state == MicrophoneState.NO_PERMISSION || state == MicrophoneState.FAILED) failed = true
                store.update { copy(microphone = state) }
            }.also { capture = it }
        }

        private fun listen(capture: Capture) {
            val meter = Meter()
            val samples = ShortArray(PIECE)
            while (true) {
                val count = capture.ring.take(samples)
                if (count == 0) break
                val paused = synchronized(lock) { accept(samples, count, capture, meter) }
                if (paused && untilPause) break
            }
            capture.close()
            while (capture.ring.take(samples) > 0) Unit // until it has told all that it tells
        }
    }

    /** Whether the speaker pauses, or has had long enough for a word. */
    private fun accept(samples: ShortArray, count: Int, capture: Capture, meter: Meter): Boolean {
        val recognizer = recognizer ?: return true
        try {
            val (final, provisional) = meter.time(count.toDouble() / capture.rate) {
                recognizer.accept(samples, count, capture.rate)
                recognizer.poll() to recognizer.provisional()
            }
            bands.append(recognizer.bands())
            keep(final)
            meter.seen(phones + provisional, before, capture.ring.written.toDouble() / capture.rate)
            val figures = meter.figures(modelBytes, capture.ring.lost)
            store.update { copy(live = sound(provisional), figures = figures) }
            return recognizer.paused || recognizer.seconds > WORD_SECONDS
        } catch (failure: RecognizerException) {
            store.update { copy(error = context.getString(R.string.listening_refused, failure.message)) }
            before += recognizer.seconds
            recognizer.reset()
            begin(recognizer)
            return false
        }
    }

    private fun finish() {
        val recognizer = recognizer ?: return
        recognizer.finish()
        bands.append(recognizer.bands())
        keep(recognizer.poll())
        store.update { copy(live = sound()) }
    }

    private fun begin(recognizer: PhonemeRecognizer) {
        phones = emptyList()
        forgotten = 0
        bands = BandHistory(recognizer.info.bands, recognizer.info.hop, (KEPT_SECONDS / recognizer.info.hop).toInt())
    }

    private fun keep(final: List<Phone>) {
        val all = phones + final
        phones = all.takeLast(PHONES)
        forgotten += all.size - phones.size
    }

    private fun sound(provisional: List<Phone> = emptyList()) =
        Sound(bands, bands.frames, phones + provisional, phones.size, recognizer?.seconds ?: 0.0, forgotten)

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
