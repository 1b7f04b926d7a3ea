package org.tetraphone.demo.ui

import android.content.Context
import android.os.SystemClock
import org.tetraphone.demo.Engine
import org.tetraphone.demo.MicrophoneState
import org.tetraphone.demo.R
import org.tetraphone.demo.Sound
import org.tetraphone.demo.UiState

internal class ListenView(context: Context, private val engine: Engine, private val host: Host) : Place(context) {
    private val header = Header(context, R.string.listen, host)
    private val notice = MicrophoneNotice(context, host, Purpose.LISTEN)
    private val spectrogram = SpectrogramView(context).apply { id = R.id.spectrogram }
    private val heard = context.text(R.style.Phones).apply {
        id = R.id.heard
        minLines = 2
    }
    private val figures = FiguresView(context, host)
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
        showHeard(state, listening)
        figures.show(state.figures)
        button.setText(if (active(state)) R.string.stop_listening else R.string.start_listening)
        button.wear(stop = active(state), R.drawable.microphone)
        button.isEnabled = state.model != null
        // A screen reader would speak into the open microphone.
        val open = state.microphone != MicrophoneState.OFF
        heard.accessibilityLiveRegion = if (open) ACCESSIBILITY_LIVE_REGION_NONE else ACCESSIBILITY_LIVE_REGION_POLITE
        keepScreenOn = listening
    }

    /** Final phones in batches, so that a screen reader is not made to interrupt itself. */
    private fun showHeard(state: UiState, listening: Boolean) {
        val sound = state.live
        val now = SystemClock.uptimeMillis()
        val phones = sound.phones.take(sound.finalPhones).takeLast(LATEST)
        if (phones.isEmpty()) {
            heard.put(idle(state))
            heardAt = now - BATCH
        } else if (!listening || now - heardAt >= BATCH) {
            heard.put(Symbols.write(phones.map { it.symbol }, host.ipa))
            heardAt = now
        }
    }

    private fun idle(state: UiState): String {
        val text = when {
            state.model == null -> R.string.loading
            active(state) -> R.string.nothing_heard
            host.permission == Permission.GRANTED -> R.string.microphone_off
            else -> return "" // the notice above says what to do
        }
        return context.getString(text)
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
