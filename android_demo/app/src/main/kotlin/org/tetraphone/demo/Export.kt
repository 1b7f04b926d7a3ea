package org.tetraphone.demo

import android.content.ContentProvider
import android.content.ContentValues
import android.content.Context
import android.database.Cursor
import android.database.MatrixCursor
import android.net.Uri
import android.os.ParcelFileDescriptor
import android.provider.OpenableColumns
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Format
import java.io.File
import java.io.FileNotFoundException

/** A file for other programs: made when it is wanted, off the main thread. */
class Export(val name: String, val type: String, val content: () -> String) {
    companion object {
        /** The phones of a recording in a format of the recogniser's. */
        fun of(recording: RecordingState, format: Format, ipa: Boolean): Export {
            val name = recording.name.substringBeforeLast('.').replace('/', '_') + format.suffix
            val type = if (format.name == "json") "application/json" else "text/plain"
            val alphabet = if (ipa) "ipa" else "arpabet"
            val sound = recording.sound
            return Export(name, type) {
                PhonemeRecognizer.write(recording.name, sound.seconds, sound.phones, format.name, alphabet)
            }
        }
    }
}

/**
 * Lends files to the app that the user shares them with, and to no other: an intent holds no more than a megabyte, a
 * file anything. A file that is shared takes the place of the one before.
 */
class SharedFiles : ContentProvider() {
    override fun onCreate() = true

    override fun openFile(uri: Uri, mode: String): ParcelFileDescriptor {
        if (mode != "r") throw SecurityException("$uri can be read only")
        return ParcelFileDescriptor.open(file(uri), ParcelFileDescriptor.MODE_READ_ONLY)
    }

    override fun query(
        uri: Uri,
        columns: Array<out String>?,
        selection: String?,
        arguments: Array<out String>?,
        order: String?,
    ): Cursor {
        val file = file(uri)
        val all = mapOf(OpenableColumns.DISPLAY_NAME to file.name, OpenableColumns.SIZE to file.length())
        val wanted = (columns ?: all.keys.toTypedArray()).filter { it in all }
        return MatrixCursor(wanted.toTypedArray()).apply { addRow(wanted.map { all[it] }) }
    }

    override fun getType(uri: Uri) = if (uri.path.orEmpty().endsWith(".json")) "application/json" else "text/plain"

    override fun insert(uri: Uri, values: ContentValues?) = throw UnsupportedOperationException()

    override fun delete(uri: Uri, selection: String?, arguments: Array<out String>?) =
        throw UnsupportedOperationException()

    override fun update(uri: Uri, values: ContentValues?, selection: String?, arguments: Array<out String>?) =
        throw UnsupportedOperationException()

    private fun file(uri: Uri): File {
        val name = uri.pathSegments.singleOrNull().orEmpty()
        return File(folder(checkNotNull(context)), name).takeIf { it.isFile && it.name == name }
            ?: throw FileNotFoundException("$uri is not shared")
    }

    companion object {
        private fun folder(context: Context) = File(context.cacheDir, "shared")

        /** Writes the file; what its address is for others. */
        fun write(context: Context, export: Export): Uri {
            val folder = folder(context)
            folder.deleteRecursively()
            folder.mkdirs()
            File(folder, export.name).writeText(export.content())
            return Uri.Builder().scheme("content").authority("${context.packageName}.shared").appendPath(export.name)
                .build()
        }
    }
}
