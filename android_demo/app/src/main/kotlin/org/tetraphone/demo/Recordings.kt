package org.tetraphone.demo

import android.content.Context
import android.media.MediaPlayer
import android.net.Uri
import android.os.Handler
import android.os.Looper
import org.tetraphone.PhonemeRecognizer.Phone
import java.io.IOException

/** A recording: decoded and recognised by a thread of its own, played on request. Calls come from the main thread. */
internal class Recordings(
    private val context: Context,
    private val store: Store,
    private val models: Models,
    private val decoder: Decoder,
) : AutoCloseable {
    private val main = Handler(Looper.getMainLooper())
    private var worker: Thread? = null
    private var player: MediaPlayer? = null

    @Volatile
    private var wanted: Uri? = null

    /** [model] may wait, and throw as the recogniser does. */
    fun open(uri: Uri, model: () -> Model) {
        close()
        wanted = uri
        store.update { copy(recording = RecordingState(displayName(context, uri), uri, 0f)) }
        worker = Thread({ recognise(uri, model) }, "recording").apply { start() }
    }

    /** Stops and forgets it. */
    override fun close() {
        wanted = null
        worker?.join()
        worker = null
        player?.release()
        player = null
        store.update { copy(recording = null) }
    }

    fun play() {
        val uri = wanted ?: return
        val player = player ?: MediaPlayer().also { fresh ->
            try {
                fresh.setDataSource(context, uri)
                fresh.prepare()
            } catch (failure: Exception) {
                fresh.release()
                return fail(uri, failure.message)
            }
            fresh.setOnCompletionListener { change { copy(playing = false, position = 0.0) } }
            this.player = fresh
        }
        player.start()
        change { copy(playing = true) }
        follow(player)
    }

    fun pause() {
        player?.takeIf { it.isPlaying }?.pause()
        change { copy(playing = false) }
    }

    private fun follow(playing: MediaPlayer) {
        if (playing != player || store.state.recording?.playing != true) return
        change { copy(position = playing.currentPosition / 1000.0) }
        main.postDelayed({ follow(playing) }, FOLLOW_MILLIS)
    }

    private fun recognise(uri: Uri, model: () -> Model) {
        try {
            models.open(model()).use { recognizer ->
                var phones = emptyList<Phone>()
                var bands: BandHistory? = null
                fun sound(history: BandHistory) =
                    Sound(history, history.frames, phones, phones.size, recognizer.seconds)
                decoder.decode(uri) { piece ->
                    val frames = (piece.duration ?: LONGEST) / recognizer.info.hop
                    val history = bands ?: BandHistory(
                        recognizer.info.bands,
                        recognizer.info.hop,
                        2 * minOf(frames + 100, LONGEST / recognizer.info.hop).toInt(),
                    ).also { bands = it }
                    recognizer.accept(piece.samples, piece.count, piece.rate, piece.channels)
                    history.append(recognizer.bands())
                    phones = phones + recognizer.poll()
                    val progress = piece.duration?.let { (piece.end / it).toFloat().coerceAtMost(0.99f) } ?: 0.5f
                    change {
                        copy(
                            progress = progress,
                            sound = sound(history),
                            durationSeconds =
                            piece.duration ?: piece.end,
                        )
                    }
                    wanted == uri
                }
                recognizer.finish()
                val history = bands ?: throw IOException("it holds no sound")
                history.append(recognizer.bands())
                phones = phones + recognizer.poll()
                change { copy(progress = 1f, sound = sound(history), durationSeconds = recognizer.seconds) }
            }
        } catch (failure: Exception) { // providers of other apps throw what they like
            fail(uri, failure.message ?: failure.toString())
        }
    }

    private fun fail(uri: Uri, reason: String?) = store.update {
        copy(error = context.getString(R.string.recording_refused, displayName(context, uri), reason), recording = null)
    }

    /** Of the recording that is open, if it still is. */
    private fun change(how: RecordingState.() -> RecordingState) =
        store.update { copy(recording = recording?.takeIf { it.uri == wanted }?.how() ?: recording) }

    private companion object {
        const val FOLLOW_MILLIS = 33L

        /** Seconds of spectrogram that are kept; of a longer recording the last. */
        const val LONGEST = 600.0
    }
}
