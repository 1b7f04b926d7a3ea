package org.tetraphone.demo.ui

import android.content.Context
import android.widget.HorizontalScrollView
import android.widget.TableLayout
import android.widget.TableRow
import org.tetraphone.demo.Engine
import org.tetraphone.demo.Export
import org.tetraphone.demo.MeasureRow
import org.tetraphone.demo.R
import org.tetraphone.demo.UiState
import java.text.NumberFormat
import kotlin.math.roundToInt

internal class MeasureView(context: Context, private val engine: Engine, private val host: Host) : Place(context) {
    private val progress = context.progress()
    private val status = context.text(R.style.Small).apply {
        accessibilityLiveRegion = ACCESSIBILITY_LIVE_REGION_POLITE
    }
    private val table = TableLayout(context).apply { id = R.id.table }
    private val card = HorizontalScrollView(context).apply {
        id = R.id.table_scroll
        setBackgroundResource(R.drawable.card)
        addView(table)
    }
    private val share = context.button(R.style.PlainButton, R.string.share_table, R.drawable.share) {
        val rows = engine.state.measure.rows
        host.share(Export("tetraphone.tsv", "text/tab-separated-values") { shared(rows) })
    }
    private val button = context.button(R.style.PrimaryButton, R.string.start_measuring, R.drawable.measure) {
        if (engine.state.measure.running) engine.cancelMeasuring() else engine.measure()
    }
    private var shown = emptyList<MeasureRow>()

    init {
        button.id = R.id.primary
        share.id = R.id.share
        val margin = context.size(R.dimen.margin)
        table.setPadding(margin / 2, margin / 2, margin / 2, margin / 2)
        arrange(
            context.column(
                context.title(R.string.measure),
                context.text(content = R.string.measure_explained),
                progress,
                status,
                card,
                FlowLayout(context).apply { addView(share) },
            ),
            footer = button,
        )
    }

    override fun show(state: UiState) {
        val (running, share, rows) = state.measure
        for (view in listOf(progress, status)) view.showIf(running)
        progress.progress = (share * progress.max).toInt()
        status.put(context.getString(R.string.measuring, percent(share)))
        card.showIf(rows.isNotEmpty())
        this.share.showIf(rows.isNotEmpty() && !running)
        button.setText(if (running) R.string.cancel else R.string.start_measuring)
        button.wear(stop = running, R.drawable.measure)
        if (rows != shown) fill(rows)
        shown = rows
    }

    private fun fill(rows: List<MeasureRow>) {
        table.removeAllViews()
        table.addView(row(narrow(columns()), R.style.Small))
        for (each in rows) table.addView(row(narrow(cells(each)), R.style.Cell))
    }

    private fun row(cells: List<String>, style: Int) = TableRow(context).apply {
        val gap = context.size(R.dimen.gap)
        for (cell in cells) {
            addView(
                context.text(style).apply {
                    text = cell
                    setPadding(gap, gap, gap, gap)
                },
            )
        }
    }

    private fun columns() = listOf(
        R.string.column_model,
        R.string.column_instructions,
        R.string.column_real_time,
        R.string.column_delay,
        R.string.column_memory,
        R.string.column_phones,
        R.string.column_bytes,
    ).map(context::getString)

    /** Model and instruction set one over the other, so that all fits on a phone. */
    private fun narrow(cells: List<String>) = listOf("${cells[0]}\n${cells[1]}") + cells.drop(2)

    private fun cells(row: MeasureRow) = listOf(
        row.model.removeSuffix(".pte"),
        row.instructionSet,
        factor(row.realTimeFactor),
        context.getString(R.string.milliseconds, "${(row.delay * 1000).roundToInt()}"),
        bytes(context, row.recognizerBytes),
        NumberFormat.getIntegerInstance().format(row.phones),
        bytes(context, row.modelBytes),
    )

    private fun shared(rows: List<MeasureRow>) =
        (listOf(columns()) + rows.map(::cells)).joinToString("\n") { it.joinToString("\t") }
}
