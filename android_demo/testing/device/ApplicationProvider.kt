package androidx.test.core.app

import android.content.Context

object ApplicationProvider {
    @JvmStatic
    fun <C : Context> getApplicationContext(): C = error("only on a device")
}
