package org.tetraphone.demo

import android.content.Context
import android.net.Uri
import android.provider.OpenableColumns
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Options
import java.io.File
import java.io.IOException
import java.io.InputStream

/** Model files in private storage: a mapped file must never change, so those of the assets and of others are copied. */
internal class Models(private val context: Context) {
    private val settings = context.getSharedPreferences("models", Context.MODE_PRIVATE)
    private val bundled = File(context.filesDir, "bundled")
    private val imported = File(context.filesDir, "imported")

    /** The one chosen last, else the first. */
    val chosen: Model?
        get() = list().run { find { file(it).path == settings.getString(CHOSEN, null) } ?: firstOrNull() }

    fun remember(model: Model) = settings.edit().putString(CHOSEN, file(model).path).apply()

    /** Copies what the assets hold, once for each version of the app. */
    fun unpack() {
        val version = context.packageManager.getPackageInfo(context.packageName, 0).lastUpdateTime
        val names = context.assets.list("models").orEmpty().filter { it.endsWith(SUFFIX) }
        if (settings.getLong(VERSION, -1) == version && bundled.list()?.toSet() == names.toSet()) return
        bundled.deleteRecursively()
        for (name in names) context.assets.open("models/$name").use { write(it, File(bundled, name)) }
        settings.edit().putLong(VERSION, version).apply()
    }

    /** The exact one first, then the smaller ones, then imported ones. */
    fun list(): List<Model> = listOf(bundled to false, imported to true).flatMap { (folder, foreign) ->
        folder.listFiles { file -> file.name.endsWith(SUFFIX) }.orEmpty()
            .sortedWith(compareBy({ "int8" !in it.name }, { "tiny" in it.name }, { it.name }))
            .map { Model(it.name.removeSuffix(SUFFIX), it.length(), foreign) }
    }

    fun open(model: Model): PhonemeRecognizer = open(file(model))

    /** Copies a foreign file and loads it, which checks it; one that is refused is not kept. */
    fun import(uri: Uri): Pair<Model, PhonemeRecognizer> {
        val name = displayName(context, uri).removeSuffix(SUFFIX).replace('/', '_')
        val file = File(imported, "$name$SUFFIX")
        val checked = File(context.cacheDir, "$name.checked")
        try {
            val input = context.contentResolver.openInputStream(uri) ?: throw IOException("$name cannot be opened")
            input.use { write(it, checked) }
            open(checked).close()
            imported.mkdirs()
            // Beside a file of that name that is in use: the old one stays mapped until it is closed.
            if (!checked.renameTo(file)) throw IOException("$file cannot be written")
        } finally {
            checked.delete()
        }
        return Model(name, file.length(), imported = true) to open(file)
    }

    private fun file(model: Model) = File(if (model.imported) imported else bundled, model.name + SUFFIX)

    private fun open(file: File) = PhonemeRecognizer(file, Options(keepBands = true))

    private fun write(input: InputStream, file: File) {
        file.parentFile?.mkdirs()
        val partial = File(file.path + ".partial")
        try {
            partial.outputStream().use { output ->
                input.copyTo(output)
                output.fd.sync()
            }
            if (!partial.renameTo(file)) throw IOException("$file cannot be written")
        } finally {
            partial.delete()
        }
    }

    private companion object {
        const val SUFFIX = ".pte"
        const val CHOSEN = "chosen"
        const val VERSION = "version"
    }
}

/** The name under which a file is known where it comes from. */
internal fun displayName(context: Context, uri: Uri): String {
    val cursor = runCatching {
        context.contentResolver.query(uri, arrayOf(OpenableColumns.DISPLAY_NAME), null, null, null)
    }.getOrNull()
    val name = cursor?.use { if (it.moveToFirst()) it.getString(0) else null }
    return name ?: uri.lastPathSegment ?: uri.toString()
}
