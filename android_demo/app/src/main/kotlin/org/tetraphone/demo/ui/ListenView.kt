package org.tetraphone.demo.ui

import android.content.Context
import android.os.SystemClock
import org.tetraphone.demo.Engine
import org.tetraphone.demo.MicrophoneState
import org.tetraphone.demo.R
import org.tetraphone.demo.Sound
import org.tetraphone.demo.UiState

internal class ListenView(context: Context, private val engine: Engine, private val host: Host) : Place(context) {
    private val header = Header(context, R.string.listen, engine, host)
    private val notice = MicrophoneNotice(context, host, Purpose.LISTEN)
    private val spectrogram = SpectrogramView(context).apply { id = R.id.spectrogram }
    private val heard = context.text(R.style.Phones).apply {
        id = R.id.heard
        minLines = 2
        accessibilityLiveRegion = ACCESSIBILITY_LIVE_REGION_POLITE
    }
    private val figures = FiguresView(context)
    private val button = context.button(R.style.PrimaryButton) {
        if (active(engine.state)) engine.stop() else host.withMicrophone(Purpose.LISTEN)
    }
    private var heardAt = SystemClock.uptimeMillis() - BATCH

    init {
        button.id = R.id.primary
        val main = context.column(header, notice, spectrogram, heard)
        stretch(spectrogram)
        arrange(main, context.column(figures), button)
    }

    override fun show(state: UiState) {
        header.show(state)
        notice.show(state)
        val listening = state.microphone == MicrophoneState.LISTENING
        spectrogram.ipa = host.ipa
        spectrogram.show(state.live, listening)
        showHeard(state.live, listening)
        figures.show(state.figures)
        button.setText(if (active(state)) R.string.stop_listening else R.string.start_listening)
        button.wear(stop = active(state), R.drawable.microphone)
        keepScreenOn = listening
    }

    /** Final phones in batches, so that a screen reader is not made to interrupt itself. */
    private fun showHeard(sound: Sound, listening: Boolean) {
        val now = SystemClock.uptimeMillis()
        val phones = sound.phones.take(sound.finalPhones).takeLast(LATEST)
        if (phones.isEmpty()) {
            heard.put(context.getString(if (listening) R.string.nothing_heard else R.string.microphone_off))
            heardAt = now - BATCH
        } else if (!listening || now - heardAt >= BATCH) {
            heard.put(Symbols.write(phones.map { it.symbol }, host.ipa))
            heardAt = now
        }
    }

    /** Also while waiting for the microphone. */
    private fun active(state: UiState) = when (state.microphone) {
        MicrophoneState.LISTENING, MicrophoneState.BUSY, MicrophoneState.SILENCED -> state.practise?.listening != true
        MicrophoneState.OFF, MicrophoneState.NO_PERMISSION, MicrophoneState.FAILED -> false
    }

    private companion object {
        /** Phones shown as text. */
        const val LATEST = 20

        /** Milliseconds. */
        const val BATCH = 1500
    }
}
