package org.tetraphone.demo.ui

import android.content.Context
import android.widget.LinearLayout
import org.tetraphone.demo.R
import org.tetraphone.demo.UiState

internal class AboutView(context: Context) : Place(context) {
    init {
        arrange(
            context.column(
                context.title(R.string.about),
                card(R.string.nothing_leaves, R.string.nothing_leaves_text),
                card(R.string.what_it_is, R.string.what_it_is_text),
                card(R.string.data, R.string.data_text, R.string.licence),
                card(R.string.libraries, R.string.libraries_text),
            ),
        )
    }

    override fun show(state: UiState) = Unit

    private fun card(title: Int, vararg texts: Int): LinearLayout {
        val margin = context.size(R.dimen.margin)
        val views = texts.map { context.text(content = it).apply { setLineSpacing(0f, 1.15f) } }
        return context.column(context.text(R.style.Heading, title), *views.toTypedArray()).apply {
            setBackgroundResource(R.drawable.card)
            setPadding(margin, margin / 4, margin, margin * 3 / 4)
        }
    }
}
