// What Robolectric calls of androidx.test, which is not on Maven Central: five files of empty shells with the expected
// names.
package androidx.test.platform.app

import android.app.Instrumentation
import android.os.Bundle

object InstrumentationRegistry {
    private var current: Instrumentation? = null

    /** Robolectric clears it by null. */
    @JvmStatic
    fun registerInstance(instrumentation: Instrumentation?, @Suppress("UNUSED_PARAMETER") arguments: Bundle?) {
        current = instrumentation
    }

    @JvmStatic
    fun getInstrumentation(): Instrumentation = checkNotNull(current)
}
