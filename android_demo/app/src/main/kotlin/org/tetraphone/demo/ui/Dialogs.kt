package org.tetraphone.demo.ui

import android.app.AlertDialog
import android.content.Context
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.demo.Engine
import org.tetraphone.demo.Export
import org.tetraphone.demo.Model
import org.tetraphone.demo.R

/** What the app asks in a window of its own; the activity opens it again after rotation. */
enum class Question { MODEL, DELETE_MODEL, SHARE, SAVE, LICENCES }

/** Null where there is nothing to choose from. */
internal fun dialog(context: Context, question: Question, engine: Engine, host: Host): AlertDialog? = when (question) {
    Question.MODEL -> modelDialog(context, engine, host)
    Question.DELETE_MODEL -> deleteDialog(context, engine)
    Question.SHARE -> exportDialog(context, R.string.share_as, engine, host, host::share)
    Question.SAVE -> exportDialog(context, R.string.save_as, engine, host, host::save)
    Question.LICENCES -> licencesDialog(context)
}

private fun modelDialog(context: Context, engine: Engine, host: Host): AlertDialog {
    val state = engine.state
    val names = state.models.map { described(context, it) }
    val builder = AlertDialog.Builder(context)
        .setTitle(R.string.model_choose)
        .setSingleChoiceItems(names.toTypedArray(), state.models.indexOf(state.model)) { dialog, which ->
            engine.choose(state.models[which])
            dialog.dismiss()
        }
        .setPositiveButton(R.string.model_open) { _, _ -> host.pickModel() }
        .setNegativeButton(R.string.cancel, null)
    if (state.models.any { it.imported }) {
        builder.setNeutralButton(R.string.model_delete) { _, _ -> host.ask(Question.DELETE_MODEL) }
    }
    return builder.create()
}

private fun deleteDialog(context: Context, engine: Engine): AlertDialog? {
    val imported = engine.state.models.filter { it.imported }
    if (imported.isEmpty()) return null
    return AlertDialog.Builder(context)
        .setTitle(R.string.model_delete)
        .setItems(imported.map { described(context, it) }.toTypedArray()) { _, which ->
            engine.deleteModel(imported[which])
        }
        .setNegativeButton(R.string.cancel, null)
        .create()
}

private fun exportDialog(
    context: Context,
    title: Int,
    engine: Engine,
    host: Host,
    give: (Export) -> Unit,
): AlertDialog? {
    val recording = engine.state.recording?.takeIf { it.progress >= 1 } ?: return null
    val formats = PhonemeRecognizer.formats
    val names = formats.map { "${it.name} (${it.suffix})" }
    return AlertDialog.Builder(context)
        .setTitle(title)
        .setItems(names.toTypedArray()) { _, which -> give(Export.of(recording, formats[which], host.ipa)) }
        .setNegativeButton(R.string.cancel, null)
        .create()
}

private fun licencesDialog(context: Context): AlertDialog {
    val names = context.assets.list(LICENCES).orEmpty().sorted()
    val texts = names.joinToString("\n\n\n") { name ->
        context.assets.open("$LICENCES/$name").use { it.reader().readText() }.trim()
    }
    return AlertDialog.Builder(context)
        .setTitle(R.string.licences)
        .setMessage(texts)
        .setNegativeButton(R.string.close_recording, null)
        .create()
}

private const val LICENCES = "licences"

private fun described(context: Context, model: Model) = "${title(context, model)}, ${bytes(context, model.bytes)}"

/** One that the user opened is told apart from the app's own of that name. */
internal fun title(context: Context, model: Model): String =
    if (model.imported) context.getString(R.string.model_imported, model.name) else model.name
