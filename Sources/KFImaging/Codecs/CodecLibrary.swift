import CImageCodecs

/// A library that reads or writes a format.
package struct CodecLibrary: Sendable {
    /// The library with its version, such as `libpng 1.6.39`.
    package let name: String
    /// The reason why the library cannot be used, and the packages to install; nil for one that is loaded.
    package var problem: (reason: String, packages: String)?

    init(_ name: String, _ version: String) { self.name = "\(name) \(version)" }
}

extension CodecLibrary {
    static var png: CodecLibrary { CodecLibrary("libpng", String(cString: kf_png_version())) }
    static var jpeg: CodecLibrary { CodecLibrary("libjpeg-turbo", String(cString: kf_jpeg_version())) }
    static var gif: CodecLibrary { CodecLibrary("giflib", String(cString: kf_gif_version())) }
    static var webp: CodecLibrary {
        let version = kf_webp_version()
        return CodecLibrary("libwebp", "\(version >> 16).\(version >> 8 & 255).\(version & 255)")
    }

    /// The packages of libavif. Debian and Ubuntu number theirs as the library: libavif.so.15 is in libavif15.
    private static var avifPackages: String {
        let number = String(cString: kf_avif_library()).split(separator: ".").last ?? ""
        return "libavif\(number) (Debian, Ubuntu) or libavif (Fedora)"
    }

    /// Loads libavif for the first AVIF.
    ///
    /// - Throws: `missingLibrary`.
    static func loadAVIF() throws(ImagingError) {
        guard let reason = kf_avif_load() else { return }
        throw .missingLibrary(.avif, packages: avifPackages, reason: String(cString: reason))
    }

    /// libavif with its coders of AV1. Loads it.
    static var avif: CodecLibrary {
        if let reason = kf_avif_load() {
            var library = CodecLibrary("libavif", "(not loaded)")
            library.problem = (String(cString: reason), avifPackages)
            return library
        }
        let coders = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
            text.initialize(repeating: 0)
            kf_avif_coders(text.baseAddress)
            return text.baseAddress.map { String(cString: $0) } ?? ""
        }
        return CodecLibrary("libavif", "\(String(cString: kf_avif_version())) (\(coders))")
    }
}
