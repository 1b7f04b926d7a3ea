package org.tetraphone.demo.ui

import android.content.Context
import android.view.View
import android.view.ViewGroup.LayoutParams.MATCH_PARENT
import android.view.ViewGroup.LayoutParams.WRAP_CONTENT
import android.widget.FrameLayout
import android.widget.LinearLayout
import android.widget.ScrollView
import org.tetraphone.demo.Export
import org.tetraphone.demo.R
import org.tetraphone.demo.UiState

/** What a place needs of its surroundings. */
interface Host {
    val permission: Permission

    /** Whether phones are written in IPA. */
    var ipa: Boolean

    /** Does it, after asking for the microphone if need be. */
    fun withMicrophone(purpose: Purpose)

    fun openSettings()

    fun pickModel()

    fun pickRecording()

    fun ask(question: Question)

    /** Hands it to another app, as a file. */
    fun share(export: Export)

    /** Writes it to a place that the user chooses. */
    fun save(export: Export)

    /** Opens the address that stands in this string. */
    fun browse(address: Int)

    /** Whether the figures of Listen are open. */
    var figuresOpen: Boolean
}

enum class Purpose { LISTEN, PRACTISE }

/** One of the five places of the screen: content that scrolls and, where there is one, a button that stays in reach. */
internal abstract class Place(context: Context) : FrameLayout(context) {
    abstract fun show(state: UiState)

    /** In one column, or [side] and [footer] beside [main] where the window is wide. */
    protected fun arrange(main: LinearLayout, side: LinearLayout? = null, footer: View? = null) {
        val pages = LinearLayout(context)
        if (side != null && resources.getBoolean(R.bool.two_panes)) {
            pages.addView(page(main, R.id.scroll), LinearLayout.LayoutParams(0, MATCH_PARENT, 3f))
            pages.addView(page(side, R.id.side_scroll, footer), LinearLayout.LayoutParams(0, MATCH_PARENT, 2f))
        } else {
            side?.let { main.addView(it) }
            pages.addView(page(main, R.id.scroll, footer), LinearLayout.LayoutParams(0, MATCH_PARENT, 1f))
        }
        addView(pages)
    }

    private fun page(content: LinearLayout, id: Int, footer: View? = null) = LinearLayout(context).apply {
        orientation = LinearLayout.VERTICAL
        val margin = context.size(R.dimen.margin)
        val scroll = ScrollView(context).apply {
            this.id = id
            isFillViewport = true
            setPadding(margin, 0, margin, context.size(R.dimen.gap))
            addView(content)
        }
        addView(scroll, LinearLayout.LayoutParams(MATCH_PARENT, 0, 1f))
        if (footer != null) {
            val gap = context.size(R.dimen.gap)
            val around = LinearLayout.LayoutParams(MATCH_PARENT, WRAP_CONTENT)
            addView(footer, around.apply { setMargins(margin, gap, margin, gap) })
        }
    }
}
