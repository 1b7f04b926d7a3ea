package org.tetraphone.demo

import android.content.Context
import android.net.Uri
import android.provider.OpenableColumns
import android.text.format.Formatter
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Options
import org.tetraphone.PhonemeRecognizer.RecognizerException
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

    fun open(model: Model, options: Options = BANDS): PhonemeRecognizer = open(file(model), options)

    /**
     * Copies a foreign file and loads it, which checks it; one that is refused is not kept. What does not begin as a
     * model does, or goes beyond [most] bytes, is not copied any further.
     */
    fun import(uri: Uri, most: Long = MOST_BYTES): Pair<Model, PhonemeRecognizer> {
        val name = displayName(context, uri).removeSuffix(SUFFIX).replace('/', '_')
        val file = File(imported, "$name$SUFFIX")
        val checked = File(context.cacheDir, "$name.checked")
        try {
            val input = context.contentResolver.openInputStream(uri)
                ?: throw IOException(context.getString(R.string.model_refused, name, uri))
            input.use { write(it, checked) { head, size -> refuse(name, head, size, most) } }
            try {
                open(checked).close()
            } catch (failure: RecognizerException) {
                throw IOException(context.getString(R.string.model_refused, name, failure.message), failure)
            }
            imported.mkdirs()
            // Beside a file of that name that is in use: the old one stays mapped until it is closed.
            if (!checked.renameTo(file)) throw IOException("$file cannot be written")
        } finally {
            checked.delete()
        }
        return Model(name, file.length(), imported = true) to open(file)
    }

    /** An imported one; a stream that has it in use goes on. */
    fun delete(model: Model) {
        require(model.imported) { "$model belongs to the app" }
        file(model).delete()
    }

    private fun refuse(name: String, head: ByteArray, size: Long, most: Long) {
        if (!MAGIC.indices.all { head[MAGIC_AT + it] == MAGIC[it].code.toByte() }) {
            throw IOException(context.getString(R.string.model_foreign, name))
        }
        if (size > most) {
            throw IOException(context.getString(R.string.model_large, name, Formatter.formatFileSize(context, most)))
        }
    }

    private fun file(model: Model) = File(if (model.imported) imported else bundled, model.name + SUFFIX)

    private fun open(file: File, options: Options = BANDS) = PhonemeRecognizer(file, options)

    /** [check] is told the first bytes, which are zero where there are none, and the size so far. */
    private fun write(input: InputStream, file: File, check: (ByteArray, Long) -> Unit = { _, _ -> }) {
        file.parentFile?.mkdirs()
        val partial = File(file.path + ".partial")
        val piece = ByteArray(PIECE)
        val head = ByteArray(HEAD)
        var size = 0L
        try {
            partial.outputStream().use { output ->
                while (true) {
                    val count = input.read(piece)
                    if (count > 0 && size < HEAD) {
                        piece.copyInto(head, size.toInt(), 0, minOf(count, HEAD - size.toInt()))
                    }
                    size += maxOf(count, 0)
                    if (count < 0 || size >= HEAD) check(head, size)
                    if (count < 0) break
                    output.write(piece, 0, count)
                }
                output.fd.sync()
            }
            if (!partial.renameTo(file)) throw IOException("$file cannot be written")
        } finally {
            partial.delete()
        }
    }

    private companion object {
        val BANDS = Options(keepBands = true)
        const val SUFFIX = ".pte"
        const val CHOSEN = "chosen"
        const val VERSION = "version"
        const val PIECE = 65_536
        const val HEAD = 16

        /** Of an ExecuTorch program: FlatBuffers' file identifier, whose last letters are its version. */
        const val MAGIC = "ET"
        const val MAGIC_AT = 4
        const val MOST_BYTES = 64_000_000L
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
