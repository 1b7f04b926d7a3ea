package org.tetraphone.demo.ui

import android.Manifest
import android.app.Activity
import android.content.Context
import org.tetraphone.demo.mayRecord

enum class Permission { GRANTED, UNASKED, REFUSED, REFUSED_FOR_GOOD }

/**
 * Android says whether it would show its question once more with a reason: yes after a first refusal, no before it and
 * after the last. So a refusal is remembered, to tell these two apart; a question left unanswered is none.
 */
internal class MicrophonePermission(private val activity: Activity) {
    private val settings = activity.getSharedPreferences("microphone", Context.MODE_PRIVATE)
    private var refused
        get() = settings.getBoolean(REFUSED, false)
        set(value) = settings.edit().putBoolean(REFUSED, value).apply()

    val state: Permission
        get() {
            val granted = activity.mayRecord
            val again = activity.shouldShowRequestPermissionRationale(MICROPHONE)
            if (granted || again) refused = again
            return when {
                granted -> Permission.GRANTED
                again -> Permission.REFUSED
                refused -> Permission.REFUSED_FOR_GOOD
                else -> Permission.UNASKED
            }
        }

    fun ask() = activity.requestPermissions(arrayOf(MICROPHONE), REQUEST)

    companion object {
        const val REQUEST = 1
        private const val MICROPHONE = Manifest.permission.RECORD_AUDIO
        private const val REFUSED = "refused"
    }
}
