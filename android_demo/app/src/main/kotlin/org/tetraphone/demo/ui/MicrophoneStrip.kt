package org.tetraphone.demo.ui

import android.content.Context
import android.view.Gravity
import android.view.ViewGroup.LayoutParams.WRAP_CONTENT
import android.widget.LinearLayout
import org.tetraphone.demo.R

/** That the microphone is on, and how to end that, in the places that do not listen themselves. */
internal class MicrophoneStrip(context: Context, stop: () -> Unit) : LinearLayout(context) {
    init {
        id = R.id.microphone_on
        gravity = Gravity.CENTER_VERTICAL
        setBackgroundResource(R.drawable.card)
        val margin = context.size(R.dimen.margin)
        setPaddingRelative(margin, 0, margin / 2, 0)
        val text = context.text(content = R.string.microphone_on).apply {
            icon(R.drawable.microphone)
            compoundDrawableTintList = context.getColorStateList(R.color.stop)
            compoundDrawablePadding = margin / 2
        }
        val button = context.button(R.style.PlainButton, R.string.stop_listening) { stop() }
        button.id = R.id.stop_listening
        addView(text, LayoutParams(0, WRAP_CONTENT, 1f))
        addView(button, LayoutParams(WRAP_CONTENT, WRAP_CONTENT))
    }
}
