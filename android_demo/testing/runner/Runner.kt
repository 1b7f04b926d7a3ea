package org.tetraphone.demo

import org.junit.runners.model.FrameworkMethod
import org.robolectric.RobolectricTestRunner
import org.robolectric.internal.bytecode.InstrumentationConfiguration

/**
 * Every test class has this runner. It keeps PhonemeRecognizer and its nested types (the name is a prefix) out of
 * Robolectric's class loaders, one for each SDK and graphics mode: a JVM loads a native library into one class loader
 * only.
 */
class Runner(test: Class<*>) : RobolectricTestRunner(test) {
    override fun createClassLoaderConfig(method: FrameworkMethod): InstrumentationConfiguration =
        InstrumentationConfiguration.Builder(super.createClassLoaderConfig(method))
            .doNotAcquirePackage("org.tetraphone.PhonemeRecognizer")
            .build()
}
