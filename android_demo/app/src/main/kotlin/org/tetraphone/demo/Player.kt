package org.tetraphone.demo

import android.content.Context
import android.media.AudioAttributes
import android.media.AudioFocusRequest
import android.media.AudioManager
import android.media.MediaPlayer
import android.net.Uri
import android.os.Handler
import android.os.Looper

/**
 * Plays a recording, which is prepared beside the main thread, and hands its way over as changes of the state. Others
 * that play are asked to be silent meanwhile; when they want to be heard, it pauses. Calls come from the main thread.
 */
internal class Player(private val context: Context, private val change: (Uri, UiState.() -> UiState) -> Unit) :
    AutoCloseable {
    private val main = Handler(Looper.getMainLooper())
    private val audio = checkNotNull(context.getSystemService(AudioManager::class.java))
    private val focus = AudioFocusRequest.Builder(AudioManager.AUDIOFOCUS_GAIN_TRANSIENT)
        .setAudioAttributes(ATTRIBUTES)
        .setOnAudioFocusChangeListener({ if (it < 0) pause() }, main)
        .build()
    private val following = Runnable(::follow)
    private var player: MediaPlayer? = null
    private var uri: Uri? = null
    private var prepared = false
    private var wanted = false // to be heard
    private var from = 0.0

    fun play(uri: Uri) {
        wanted = true
        change(uri) { copy(recording = recording?.copy(playing = true)) }
        if (player == null) {
            prepare(uri)
        } else if (prepared) {
            start()
        }
    }

    fun seek(uri: Uri, seconds: Double) {
        from = seconds
        change(uri) { copy(recording = recording?.copy(position = seconds)) }
        if (prepared) player?.seekTo((1000 * seconds).toInt())
    }

    fun pause() {
        wanted = false
        if (prepared) player?.takeIf { it.isPlaying }?.pause()
        audio.abandonAudioFocusRequest(focus)
        uri?.let { change(it) { copy(recording = recording?.copy(playing = false)) } }
    }

    override fun close() {
        pause()
        player?.release()
        player = null
        uri = null
        prepared = false
        from = 0.0
    }

    private fun prepare(uri: Uri) {
        val fresh = MediaPlayer()
        player = fresh
        this.uri = uri
        fresh.setAudioAttributes(ATTRIBUTES)
        fresh.setOnPreparedListener {
            if (player !== fresh) return@setOnPreparedListener
            prepared = true
            if (from > 0) fresh.seekTo((1000 * from).toInt())
            if (wanted) start()
        }
        fresh.setOnErrorListener { _, what, extra ->
            if (player === fresh) fail(uri, "$what, $extra")
            true // or the end is told as well
        }
        fresh.setOnCompletionListener {
            if (player !== fresh) return@setOnCompletionListener
            from = 0.0
            pause()
            change(uri) { copy(recording = recording?.copy(position = 0.0)) }
        }
        // A provider of another app opens its file when asked, which may take long.
        Thread({
            try {
                fresh.setDataSource(context, uri)
                fresh.prepareAsync()
            } catch (failure: Exception) { // also if it was released meanwhile
                main.post { if (player === fresh) fail(uri, failure.message) }
            }
        }, "player").start()
    }

    private fun start() {
        val player = player ?: return
        try {
            if (audio.requestAudioFocus(focus) != AudioManager.AUDIOFOCUS_REQUEST_GRANTED) return pause()
            player.start()
        } catch (failure: IllegalStateException) {
            return fail(uri ?: return, failure.message)
        }
        follow()
    }

    private fun follow() {
        main.removeCallbacks(following)
        val playing = player?.takeIf { prepared && it.isPlaying } ?: return
        val position = playing.currentPosition / 1000.0
        change(uri ?: return) { copy(recording = recording?.copy(position = position)) }
        main.postDelayed(following, FOLLOW_MILLIS)
    }

    private fun fail(uri: Uri, reason: String?) {
        close()
        change(uri) {
            val message = context.getString(R.string.playing_refused, recording?.name, reason)
            copy(error = message, recording = recording?.copy(playing = false))
        }
    }

    private companion object {
        const val FOLLOW_MILLIS = 33L
        val ATTRIBUTES: AudioAttributes = AudioAttributes.Builder()
            .setUsage(AudioAttributes.USAGE_MEDIA)
            .setContentType(AudioAttributes.CONTENT_TYPE_SPEECH)
            .build()
    }
}
