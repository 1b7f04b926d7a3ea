import org.jetbrains.kotlin.gradle.dsl.JvmTarget

plugins {
    alias(libs.plugins.android.library)
    alias(libs.plugins.kotlin.android)
    `maven-publish`
}

group = "org.tetraphone"
version = Regex("(?m)^version *= *\"(.*)\"").find(rootDir.resolve("../pyproject.toml").readText())!!.groupValues[1]

android {
    namespace = "org.tetraphone"
    compileSdk = 36
    ndkVersion = "27.2.12479018"
    defaultConfig {
        minSdk = 26
        consumerProguardFiles("consumer-rules.pro")
        ndk {
            abiFilters += listOf("arm64-v8a", "x86_64")
        }
        externalNativeBuild {
            cmake {
                targets += "tetraphone_jni"
                arguments += "-DANDROID_STL=c++_static"
                // Offline: a folder with ExecuTorch's sources, which CMake otherwise fetches.
                val executorch = providers.gradleProperty("executorch").orNull
                if (executorch != null) arguments += "-DFETCHCONTENT_SOURCE_DIR_EXECUTORCH=$executorch"
                // `direct` needs neither ExecuTorch nor the tools that it is built by.
                val engine = providers.gradleProperty("engine").orNull
                if (engine != null) arguments += "-DTETRAPHONE_ENGINES=$engine"
            }
        }
    }
    externalNativeBuild {
        cmake {
            path = file("src/main/cpp/CMakeLists.txt")
            version = "3.31.6"
        }
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
    publishing {
        singleVariant("release") {
            withSourcesJar()
        }
    }
    // As in app/build.gradle.kts.
    sourceSets["test"].kotlin.srcDir("../testing/runner")
    sourceSets["test"].resources.srcDir("../testing/resources")
    testOptions {
        unitTests.isIncludeAndroidResources = true
        unitTests.all { test ->
            val prepared = rootDir.resolve("../build/android")
            test.jvmArgs("-Djava.library.path=$prepared/host")
            test.systemProperty("tetraphone.models", "$prepared/assets/models")
            test.systemProperty("tetraphone.expected", "$prepared/expected")
            test.systemProperty("tetraphone.corpora", rootDir.resolve("../../shared/corpora"))
        }
    }
}

kotlin {
    compilerOptions {
        jvmTarget = JvmTarget.JVM_1_8
    }
}

// `gradle :recognizer:publishToMavenLocal`, or a repository of one's own.
publishing {
    publications {
        register<MavenPublication>("release") {
            artifactId = "recognizer"
            pom {
                licenses {
                    license {
                        name = "Apache-2.0"
                    }
                }
            }
            afterEvaluate { from(components["release"]) }
        }
    }
}

dependencies {
    testImplementation(libs.junit)
    testImplementation(libs.robolectric)
}
