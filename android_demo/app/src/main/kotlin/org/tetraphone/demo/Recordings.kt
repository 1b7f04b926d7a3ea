package org.tetraphone.demo

import android.content.Context
import android.net.Uri
import org.tetraphone.PhonemeRecognizer.Phone
import java.io.IOException

/** A recording: decoded and recognised by a thread of its own, played on request. Calls come from the main thread. */
internal class Recordings(
    private val context: Context,
    private val store: Store,
    private val models: Models,
    private val decoder: Decoder,
) : AutoCloseable {
    private val player = Player(context) { uri, change ->
        store.update { if (recording?.uri == uri) change(this) else this }
    }

    /** What is being recognised; a new one for each time, so that a thread of an earlier one ends by itself. */
    @Volatile
    private var wanted: Wanted? = null

    private class Wanted(val uri: Uri, val model: () -> Model)

    /** [model] may wait, and throw as the recogniser does. */
    fun open(uri: Uri, model: () -> Model) {
        close()
        store.update { copy(recording = RecordingState(uri.lastPathSegment ?: uri.toString(), uri, 0f)) }
        begin(Wanted(uri, model))
    }

    /** Recognises what is open once more, by another model; playing goes on. */
    fun again() {
        val open = wanted ?: return
        store.update { copy(recording = recording?.copy(progress = 0f, sound = Sound())) }
        begin(Wanted(open.uri, open.model))
    }

    /** Stops and forgets it. */
    override fun close() {
        wanted = null
        player.close()
        store.update { copy(recording = null) }
    }

    fun play() = wanted?.let { player.play(it.uri) }

    fun pause() = player.pause()

    /** To so many seconds from the start. */
    fun seek(seconds: Double) = wanted?.let { player.seek(it.uri, seconds) }

    private fun begin(opened: Wanted) {
        wanted = opened
        Thread({ recognise(opened) }, "recording").start()
    }

    private fun recognise(opened: Wanted) {
        val name = displayName(context, opened.uri) // asks another app, which may take its time
        change(opened) { copy(name = name) }
        try {
            models.open(opened.model()).use { recognizer ->
                val phones = ArrayList<Phone>()
                var bands: BandHistory? = null
                var percent = -1
                fun sound(history: BandHistory) =
                    Sound(history, history.frames, ArrayList(phones), phones.size, recognizer.seconds)
                decoder.decode(opened.uri, { wanted === opened }) { piece ->
                    val history = bands ?: history(piece, recognizer.info.bands, recognizer.info.hop)
                    bands = history
                    recognizer.accept(piece.samples, piece.count, piece.rate, piece.channels)
                    history.append(recognizer.bands())
                    phones += recognizer.poll()
                    val progress = piece.duration?.let { (piece.end / it).toFloat().coerceAtMost(0.99f) } ?: 0.5f
                    // A hundred times in all, not for each piece: the list is copied.
                    val now = if (piece.duration == null) piece.end.toInt() / 10 else (100 * progress).toInt()
                    if (now == percent) return@decode
                    percent = now
                    val sound = sound(history)
                    change(opened) {
                        copy(progress = progress, sound = sound, durationSeconds = piece.duration ?: piece.end)
                    }
                }
                if (wanted !== opened) return
                recognizer.finish()
                val history = bands ?: throw IOException(context.getString(R.string.no_sound))
                history.append(recognizer.bands())
                phones += recognizer.poll()
                val sound = sound(history)
                change(opened) { copy(progress = 1f, sound = sound, durationSeconds = sound.seconds) }
            }
        } catch (_: SecurityException) { // lent to this app for a while only
            fail(opened, context.getString(R.string.recording_gone, name))
        } catch (failure: Exception) { // providers of other apps throw what they like
            fail(opened, context.getString(R.string.recording_refused, name, failure.message ?: failure.toString()))
        }
    }

    private fun history(piece: Decoder.Piece, bands: Int, hop: Double): BandHistory {
        val seconds = minOf(LONGEST, (piece.duration ?: LONGEST) + 1)
        return BandHistory(bands, hop, (seconds / hop).toInt())
    }

    private fun fail(failed: Wanted, message: String) = store.update {
        if (wanted === failed) copy(error = message, recording = null) else this
    }

    /** Of [opened], if it is still the one that is open. */
    private fun change(opened: Wanted, how: RecordingState.() -> RecordingState) =
        store.update { if (wanted === opened) copy(recording = recording?.how()) else this }

    private companion object {
        /** Seconds of spectrogram that are kept; of a longer recording the last. */
        const val LONGEST = 600.0
    }
}
