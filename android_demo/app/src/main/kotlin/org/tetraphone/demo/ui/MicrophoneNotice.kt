package org.tetraphone.demo.ui

import android.content.Context
import android.view.View
import android.widget.LinearLayout
import org.tetraphone.demo.MicrophoneState
import org.tetraphone.demo.R
import org.tetraphone.demo.UiState

/** Why the app asks for the microphone, that it may not use it, or what keeps it from hearing; else nothing. */
internal class MicrophoneNotice(context: Context, private val host: Host, purpose: Purpose) : LinearLayout(context) {
    private val message = context.text().apply { accessibilityLiveRegion = ACCESSIBILITY_LIVE_REGION_POLITE }
    private val button = context.button(R.style.PlainButton) {
        if (host.permission == Permission.REFUSED_FOR_GOOD) host.openSettings() else host.withMicrophone(purpose)
    }

    init {
        id = R.id.notice
        orientation = VERTICAL
        setBackgroundResource(R.drawable.card)
        val margin = context.size(R.dimen.margin)
        setPadding(margin, margin / 2, margin, margin / 2)
        button.id = R.id.notice_button
        addView(message)
        addView(
            button,
            LayoutParams(LayoutParams.WRAP_CONTENT, LayoutParams.WRAP_CONTENT).apply {
                topMargin =
                    margin / 2
            },
        )
    }

    fun show(state: UiState) {
        val permission = host.permission
        val text = text(permission, state.microphone)
        visibility = if (text == null) View.GONE else View.VISIBLE
        text?.let { message.put(context.getString(it)) }
        val refused = permission == Permission.REFUSED || permission == Permission.REFUSED_FOR_GOOD
        button.showIf(refused)
        val forGood = permission == Permission.REFUSED_FOR_GOOD
        button.put(context.getString(if (forGood) R.string.open_settings else R.string.ask_again))
    }

    private fun text(permission: Permission, microphone: MicrophoneState): Int? = when (permission) {
        Permission.UNASKED -> R.string.reason_microphone

        Permission.REFUSED -> R.string.microphone_refused

        Permission.REFUSED_FOR_GOOD -> R.string.microphone_refused_for_good

        Permission.GRANTED -> when (microphone) {
            MicrophoneState.OFF, MicrophoneState.LISTENING -> null
            MicrophoneState.BUSY -> R.string.microphone_busy
            MicrophoneState.SILENCED -> R.string.microphone_silenced
            MicrophoneState.NO_PERMISSION -> R.string.microphone_no_permission
            MicrophoneState.FAILED -> R.string.microphone_failed
        }
    }
}
