package org.tetraphone.demo

import android.content.Context
import android.net.Uri
import android.os.Handler
import android.os.Looper
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Phone
import java.io.IOException
import java.util.concurrent.Executors
import java.util.concurrent.Future
import java.util.concurrent.TimeUnit

/**
 * The app behind its screen: models, microphone, recordings, practice, measurement. One for the process (see
 * DemoApplication), so rotation keeps recogniser and state. All calls come from the main thread and return at once.
 */
class Engine internal constructor(private val context: Context, decoder: Decoder) : AutoCloseable {
    constructor(context: Context) : this(context, PlatformDecoder(context))

    private val store = Store()
    private val models = Models(context)
    private val main = Handler(Looper.getMainLooper())
    private val files = Executors.newSingleThreadExecutor() // loads models, measures
    private val live = Live(context, store)
    private val recordings = Recordings(context, store, models, decoder)
    private var resume = false

    private var measurement: Future<*>? = null

    @Volatile
    private var measuring = false
    private val unpacked: Future<*> = inBackground {
        models.unpack()
        store.update { copy(models = this@Engine.models.list()) }
        val model = models.chosen ?: throw IOException(context.getString(R.string.no_models))
        live.use(models.open(model), model)
    }

    val state: UiState get() = store.state

    val words: List<Word> get() = WORDS

    /** Calls [observer] on the main thread, now and after each change, until it is closed. */
    fun observe(observer: (UiState) -> Unit): AutoCloseable = store.observe(observer)

    /** Needs RECORD_AUDIO; without it the state says NO_PERMISSION. A measurement ends. */
    fun listen() = whenPermitted { live.start(untilPause = false, measurement) }

    fun stop() {
        resume = false
        live.stop()
    }

    /** The screen is gone (not by rotation): releases the microphone, pauses playing. */
    fun leave() {
        resume = state.microphone in ACTIVE && state.practise?.listening != true
        live.stop()
        recordings.pause()
        cancelMeasuring()
    }

    /** The screen is back: goes on listening if [leave] had stopped it. */
    fun comeBack() {
        if (resume) listen()
        resume = false
    }

    fun choose(model: Model) {
        inBackground { use(models.open(model), model) }
    }

    private fun use(recognizer: PhonemeRecognizer, model: Model) {
        live.use(recognizer, model)
        models.remember(model)
        main.post { recordings.again() } // or it had another model's phones under this one's name
    }

    /** Copies a foreign model into private storage, checks it, uses it; a refused one leaves the model in use. */
    fun importModel(uri: Uri) {
        inBackground {
            val (model, recognizer) = models.import(uri)
            store.update { copy(models = this@Engine.models.list()) }
            use(recognizer, model)
        }
    }

    /** Removes an imported model; if it is the one in use, the first takes its place. */
    fun deleteModel(model: Model) {
        inBackground {
            models.delete(model)
            store.update { copy(models = this@Engine.models.list()) }
            if (state.model == model) models.chosen?.let { use(models.open(it), it) }
        }
    }

    /** Writes it to where the user wants it. */
    fun save(export: Export, to: Uri) {
        inBackground {
            // "t": what was there before may have been longer.
            val output = context.contentResolver.openOutputStream(to, "wt")
                ?: throw IOException(context.getString(R.string.not_saved, export.name))
            output.use { it.write(export.content().toByteArray()) }
        }
    }

    /** Makes it a file that [share] may hand to another app; on the main thread. */
    fun lend(export: Export, share: (Uri) -> Unit) {
        inBackground {
            val uri = SharedFiles.write(context, export)
            main.post { share(uri) }
        }
    }

    /** Decodes and recognises a recording. */
    fun openRecording(uri: Uri) = recordings.open(uri) {
        unpacked.get()
        state.model ?: throw IOException(context.getString(R.string.no_models))
    }

    fun closeRecording() = recordings.close()

    fun play() = recordings.play()

    fun pausePlaying() = recordings.pause()

    /** Plays from so many seconds on, or shows them. */
    fun seek(seconds: Double) = recordings.seek(seconds)

    /** Shows a word to say, without listening yet. */
    fun practise(word: Word) {
        if (state.practise?.listening == true) live.stop()
        store.update { copy(practise = PractiseState(word, listening = false)) }
    }

    /** Listens until a pause, then compares; [stop] ends it sooner. */
    fun startPractise() = whenPermitted {
        val word = state.practise?.word ?: return@whenPermitted
        store.update { copy(practise = PractiseState(word, listening = true)) }
        live.start(untilPause = true, measurement) { heard ->
            store.update { if (practise == PractiseState(word, true)) copy(practise = compared(word, heard)) else this }
        }
    }

    private fun compared(word: Word, heard: List<Phone>): PractiseState {
        val result = if (heard.isEmpty()) null else align(word.phones, heard.map { it.symbol })
        return PractiseState(word, listening = false, result)
    }

    fun measure() {
        if (state.measure.running) return
        stop()
        measuring = true
        store.update { copy(measure = MeasureState(running = true)) }
        measurement = inBackground {
            live.join()
            measure(context, models, { measuring }) { store.update { copy(measure = it) } }
        }
    }

    /** What was measured stays. */
    fun cancelMeasuring() {
        measuring = false
    }

    fun dismissError() = store.update { copy(error = null) }

    private fun whenPermitted(start: () -> Unit) {
        cancelMeasuring()
        if (context.mayRecord) start() else store.update { copy(microphone = MicrophoneState.NO_PERMISSION) }
    }

    /** What goes wrong is the state's error: providers of other apps throw what they like. */
    private fun inBackground(work: () -> Unit): Future<*> = files.submit {
        try {
            work()
        } catch (failure: Exception) {
            store.update { copy(error = failure.message ?: failure.toString()) }
        }
    }

    override fun close() {
        cancelMeasuring()
        files.shutdown()
        files.awaitTermination(1, TimeUnit.MINUTES)
        live.close()
        recordings.close()
    }

    private companion object {
        /** The user wants to be heard, and the microphone is not given up. */
        val ACTIVE = setOf(MicrophoneState.LISTENING, MicrophoneState.BUSY, MicrophoneState.SILENCED)
    }
}
