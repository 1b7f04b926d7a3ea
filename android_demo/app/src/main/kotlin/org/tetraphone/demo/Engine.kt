package org.tetraphone.demo

import android.content.Context
import android.net.Uri
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
    private val files = Executors.newSingleThreadExecutor() // loads models, measures
    private val live = Live(context, store)
    private val recordings = Recordings(context, store, models, decoder)
    private var resume = false
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

    /** Needs RECORD_AUDIO; without it the state says NO_PERMISSION. */
    fun listen() = whenPermitted { live.start(untilPause = false) }

    fun stop() {
        resume = false
        live.stop()
    }

    /** The screen is gone (not by rotation): releases the microphone, pauses playing. */
    fun leave() {
        resume = state.microphone in ACTIVE && state.practise?.listening != true
        live.stop()
        recordings.pause()
    }

    /** The screen is back: goes on listening if [leave] had stopped it. */
    fun comeBack() {
        if (resume) listen()
        resume = false
    }

    fun choose(model: Model) {
        inBackground {
            live.use(models.open(model), model)
            models.remember(model)
        }
    }

    /** Copies a foreign model into private storage, checks it, uses it; a refused one leaves the model in use. */
    fun importModel(uri: Uri) {
        inBackground {
            val (model, recognizer) = models.import(uri)
            store.update { copy(models = this@Engine.models.list()) }
            live.use(recognizer, model)
            models.remember(model)
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

    /** Shows a word to say, without listening yet. */
    fun practise(word: Word) {
        if (state.practise?.listening == true) live.stop()
        store.update { copy(practise = PractiseState(word, listening = false)) }
    }

    /** Listens until a pause, then compares; [stop] ends it sooner. */
    fun startPractise() = whenPermitted {
        val word = state.practise?.word ?: return@whenPermitted
        store.update { copy(practise = PractiseState(word, listening = true)) }
        live.start(untilPause = true) { heard -> store.update { copy(practise = compared(word, heard)) } }
    }

    private fun compared(word: Word, heard: List<Phone>): PractiseState {
        val result = if (heard.isEmpty()) null else align(word.phones, heard.map { it.symbol })
        return PractiseState(word, listening = false, result)
    }

    fun measure() {
        if (state.measure.running) return
        store.update { copy(measure = MeasureState(running = true)) }
        inBackground { measure(context, models) { store.update { copy(measure = it) } } }
    }

    fun dismissError() = store.update { copy(error = null) }

    private fun whenPermitted(start: () -> Unit) {
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
