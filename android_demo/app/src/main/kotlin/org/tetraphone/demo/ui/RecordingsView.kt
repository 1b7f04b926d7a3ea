package org.tetraphone.demo.ui

import android.app.AlertDialog
import android.content.Context
import android.text.format.DateUtils
import android.view.ViewGroup.LayoutParams.MATCH_PARENT
import android.widget.FrameLayout
import android.widget.HorizontalScrollView
import org.tetraphone.demo.Engine
import org.tetraphone.demo.Export
import org.tetraphone.demo.R
import org.tetraphone.demo.RecordingState
import org.tetraphone.demo.UiState

internal class RecordingsView(context: Context, private val engine: Engine, private val host: Host) : Place(context) {
    private val header = Header(context, R.string.recordings, engine, host)
    private val empty = context.text(content = R.string.no_recording)
    private val name = context.text(R.style.Heading)
    private val progress = context.progress()
    private val spectrogram = SpectrogramView(context, whole = true).apply { id = R.id.spectrogram }
    private val strip = HorizontalScrollView(context).apply {
        id = R.id.recording_scroll
        layoutDirection = LAYOUT_DIRECTION_LTR
        isFillViewport = true
        isHorizontalScrollBarEnabled = false
        setBackgroundResource(R.drawable.card)
        addView(spectrogram, FrameLayout.LayoutParams(MATCH_PARENT, MATCH_PARENT))
        setOnScrollChangeListener { _, _, _, _, _ -> spectrogram.invalidate() }
    }
    private val position = context.text(R.style.Small)
    private val heard = context.text(R.style.Phones).apply { id = R.id.heard }
    private val share = context.button(R.style.PlainButton, R.string.share, R.drawable.share) { share() }
    private val another = context.button(R.style.PlainButton, R.string.open_another, R.drawable.open) {
        host.pickRecording()
    }
    private val close = context.button(R.style.PlainButton, R.string.close_recording, R.drawable.close) {
        engine.closeRecording()
    }
    private val actions = FlowLayout(context)
    private val button = context.button(R.style.PrimaryButton) { pressed() }

    init {
        button.id = R.id.primary
        share.id = R.id.share
        another.id = R.id.open
        close.id = R.id.close
        for (action in listOf(share, another, close)) actions.addView(action)
        val main = context.column(header, empty, name, progress, strip, position)
        stretch(strip)
        arrange(main, context.column(heard, actions), button)
    }

    override fun show(state: UiState) {
        header.show(state)
        val recording = state.recording
        empty.showIf(recording == null)
        for (view in listOf(name, strip, position, actions)) view.showIf(recording != null)
        progress.showIf(recording != null && recording.progress < 1)
        heard.showIf(recording != null && recording.progress >= 1)
        share.showIf(recording != null && recording.progress >= 1)
        button.setText(label(recording))
        button.icon(icon(recording))
        recording?.let(::show)
    }

    private fun show(recording: RecordingState) {
        name.put(recording.name)
        progress.progress = (recording.progress * progress.max).toInt()
        position.put(
            if (recording.progress < 1) {
                context.getString(R.string.recognising, percent(recording.progress))
            } else {
                val length = recording.durationSeconds ?: recording.sound.seconds
                context.getString(R.string.position, clock(recording.position), clock(length))
            },
        )
        spectrogram.ipa = host.ipa
        spectrogram.show(
            recording.sound,
            moves = false,
            position = recording.position.takeIf {
                recording.playing ||
                    it > 0
            },
        )
        val phones = recording.sound.phones.map { it.symbol }
        heard.put(if (phones.isEmpty()) context.getString(R.string.no_phones) else Symbols.write(phones, host.ipa))
        if (recording.playing) strip.scrollTo((spectrogram.x(recording.position) - strip.width / 2).toInt(), 0)
    }

    private fun label(recording: RecordingState?) = when {
        recording == null -> R.string.open_recording
        recording.playing -> R.string.pause
        else -> R.string.play
    }

    private fun icon(recording: RecordingState?) = when {
        recording == null -> R.drawable.open
        recording.playing -> R.drawable.pause
        else -> R.drawable.play
    }

    private fun pressed() {
        val recording = engine.state.recording
        when {
            recording == null -> host.pickRecording()
            recording.playing -> engine.pausePlaying()
            else -> engine.play()
        }
    }

    private fun share() {
        val recording = engine.state.recording ?: return
        val names = listOf(R.string.share_text, R.string.share_json, R.string.share_text_grid)
        AlertDialog.Builder(context)
            .setTitle(R.string.share_as)
            .setItems(names.map(context::getString).toTypedArray()) { _, which ->
                when (which) {
                    0 -> host.share(Export.text(recording), "text/plain")
                    1 -> host.share(Export.json(recording), "application/json")
                    else -> host.share(Export.textGrid(recording), "text/plain")
                }
            }
            .show()
    }

    private fun clock(seconds: Double) = DateUtils.formatElapsedTime(seconds.toLong())
}
