package org.tetraphone.demo.ui

import android.content.Context
import android.view.ViewGroup.LayoutParams.MATCH_PARENT
import android.view.ViewGroup.LayoutParams.WRAP_CONTENT
import android.widget.FrameLayout
import android.widget.Switch
import org.tetraphone.demo.R
import org.tetraphone.demo.UiState

/** The name of the place, the model in use, and the switch from ARPABET to IPA. */
internal class Header(context: Context, title: Int, private val host: Host) : FrameLayout(context) {
    private val model = context.button(R.style.PlainButton) { host.ask(Question.MODEL) }
    private val symbols = Switch(context).apply {
        id = R.id.symbols
        setText(R.string.ipa)
        minimumHeight = context.size(R.dimen.touch)
        minHeight = context.size(R.dimen.touch)
        switchPadding = context.size(R.dimen.gap) / 2
        isSaveEnabled = false
    }

    init {
        model.id = R.id.model
        model.setCompoundDrawablesRelativeWithIntrinsicBounds(0, 0, R.drawable.more, 0)
        model.setPaddingRelative(context.dp(14f), 0, context.dp(8f), 0)
        val flow = FlowLayout(context)
        flow.addView(context.text(R.style.Title, title))
        flow.addView(model)
        flow.addView(symbols)
        addView(flow, LayoutParams(MATCH_PARENT, WRAP_CONTENT))
        symbols.setOnCheckedChangeListener { _, on -> host.ipa = on }
    }

    fun show(state: UiState) {
        val name = state.model?.let { title(context, it) } ?: context.getString(R.string.model_none)
        model.put(name)
        model.contentDescription = context.getString(R.string.model_now, name)
        symbols.isChecked = host.ipa
    }
}
