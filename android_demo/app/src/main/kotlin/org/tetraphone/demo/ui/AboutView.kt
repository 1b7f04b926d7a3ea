package org.tetraphone.demo.ui

import android.content.Context
import android.view.View
import android.widget.LinearLayout
import org.tetraphone.demo.R
import org.tetraphone.demo.UiState

internal class AboutView(context: Context, host: Host) : Place(context) {
    init {
        val version = context.packageManager.getPackageInfo(context.packageName, 0).versionName
        val link = context.button(R.style.PlainButton, R.string.licence_link) { host.browse(R.string.licence_address) }
        val licences = context.button(R.style.PlainButton, R.string.licences) { host.ask(Question.LICENCES) }
        link.id = R.id.licence_link
        licences.id = R.id.licences
        arrange(
            context.column(
                context.title(R.string.about),
                card(R.string.nothing_leaves, text(R.string.nothing_leaves_text), text(R.string.privacy_text)),
                card(
                    R.string.what_it_is,
                    text(R.string.what_it_is_text),
                    context.text(R.style.Small).apply { text = context.getString(R.string.version, version) },
                ),
                card(R.string.data, text(R.string.data_text), text(R.string.licence), line(link)),
                card(R.string.libraries, text(R.string.libraries_text), line(licences)),
            ),
        )
    }

    override fun show(state: UiState) = Unit

    private fun text(content: Int) = context.text(content = content).apply { setLineSpacing(0f, 1.15f) }

    private fun line(view: View) = FlowLayout(context).apply { addView(view) }

    private fun card(title: Int, vararg views: View): LinearLayout {
        val margin = context.size(R.dimen.margin)
        return context.column(context.text(R.style.Heading, title), *views).apply {
            setBackgroundResource(R.drawable.card)
            setPadding(margin, margin / 4, margin, margin * 3 / 4)
        }
    }
}
