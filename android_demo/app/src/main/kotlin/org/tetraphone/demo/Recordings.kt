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
    private var player: MediaPlayer? = null

    /** The recording that is open; a new one for each [open], so that a thread of an earlier one ends by itself. */
    @Volatile
    private var wanted: Wanted? = null

    private class Wanted(val uri: Uri)

    /** [model] may wait, and throw as the recogniser does. */
    fun open(uri: Uri, model: () -> Model) {
        close()
        val opened = Wanted(uri)
        wanted = opened
        store.update { copy(recording = RecordingState(displayName(context, uri), uri, 0f)) }
        Thread({ recognise(opened, model) }, "recording").start()
    }

    /** Stops and forgets it. */
    override fun close() {
        wanted = null
        player?.release()
        player = null
        store.update { copy(recording = null) }
    }

    fun play() {
        val wanted = wanted ?: return
        val player = player ?: MediaPlayer().also { fresh ->
            try {
                fresh.setDataSource(context, wanted.uri)
                fresh.prepare()
            } catch (failure: Exception) {
                fresh.release()
                return fail(wanted, failure.message)
            }
            fresh.setOnCompletionListener { change(wanted) { copy(playing = false, position = 0.0) } }
            this.player = fresh
        }
        player.start()
        change(wanted) { copy(playing = true) }
        follow(player)
    }

    fun pause() {
        player?.takeIf { it.isPlaying }?.pause()
        wanted?.let { change(it) { copy(playing = false) } }
    }

    private fun follow(playing: MediaPlayer) {
        if (playing != player || store.state.recording?.playing != true) return
        change(wanted ?: return) { copy(position = playing.currentPosition / 1000.0) }
        main.postDelayed({ follow(playing) }, FOLLOW_MILLIS)
    }

    private fun recognise(opened: Wanted, model: () -> Model) {
        try {
            models.open(model()).use { recognizer ->
                var phones = emptyList<Phone>()
                var bands: BandHistory? = null
                fun sound(history: BandHistory) =
                    Sound(history, history.frames, phones, phones.size, recognizer.seconds)
                decoder.decode(opened.uri) { piece ->
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
                    change(opened) {
                        copy(
                            progress = progress,
                            sound = sound(history),
                            durationSeconds =
                            piece.duration ?: piece.end,
                        )
                    }
                    wanted == opened
                }
                recognizer.finish()
                val history = bands ?: throw IOException("it holds no sound")
                history.append(recognizer.bands())
                phones = phones + recognizer.poll()
                change(opened) { copy(progress = 1f, sound = sound(history), durationSeconds = recognizer.seconds) }
            }
        } catch (failure: Exception) { // providers of other apps throw what they like
            fail(opened, failure.message ?: failure.toString())
        }
    }

    private fun fail(failed: Wanted, reason: String?) {
        val message = context.getString(R.string.recording_refused, displayName(context, failed.uri), reason)
        store.update { if (wanted == failed) copy(error = message, recording = null) else this }
    }

    /** Of [opened], if it is still the one that is open. */
    private fun change(opened: Wanted, how: RecordingState.() -> RecordingState) =
        store.update { if (wanted == opened) copy(recording = recording?.how()) else this }

    private companion object {
        const val FOLLOW_MILLIS = 33L

        /** Seconds of spectrogram that are kept; of a longer recording the last. */
        const val LONGEST = 600.0
    }
}
