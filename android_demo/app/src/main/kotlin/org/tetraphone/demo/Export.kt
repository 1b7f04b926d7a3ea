package org.tetraphone.demo

import org.json.JSONArray
import org.json.JSONObject
import java.util.Locale

/** The phones of a recording for other programs. */
internal object Export {
    /** A line each: start and end in seconds, phone, confidence. */
    fun text(recording: RecordingState): String = recording.sound.phones.joinToString("") {
        String.format(Locale.ROOT, "%8.2f %8.2f  %-3s %.2f\n", it.start, it.end, it.symbol, it.confidence)
    }

    /** As `tetraphone recognize --json`. */
    fun json(recording: RecordingState): String = JSONObject()
        .put("recording", recording.name)
        .put("duration", recording.sound.seconds)
        .put(
            "phones",
            JSONArray(
                recording.sound.phones.map {
                    JSONObject().put("phone", it.symbol).put("start", it.start).put("end", it.end)
                        .put("confidence", it.confidence)
                },
            ),
        )
        .toString(1)

    /** Praat's, one tier; empty intervals between the phones. */
    fun textGrid(recording: RecordingState): String {
        val end = maxOf(recording.sound.seconds, recording.sound.phones.lastOrNull()?.end ?: 0.0)
        val intervals = mutableListOf<Triple<Double, Double, String>>()
        var last = 0.0
        for (phone in recording.sound.phones) {
            if (phone.start > last) intervals += Triple(last, phone.start, "")
            intervals += Triple(maxOf(last, phone.start), phone.end, phone.symbol)
            last = phone.end
        }
        if (end > last) intervals += Triple(last, end, "")
        val tier = intervals.joinToString("") { (from, to, text) -> "$from\n$to\n\"$text\"\n" }
        val head = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n0\n$end\n<exists>\n1\n"
        return "$head\"IntervalTier\"\n\"phones\"\n0\n$end\n${intervals.size}\n$tier"
    }
}
