import CImageCodecs

/// A library that reads or writes a format, or that kf uses otherwise.
public struct CodecLibrary: Sendable {
    /// The library with its version, such as `libpng 1.6.39`.
    public var name: String { "\(word) \(version)" }
    /// The name alone.
    package let word: String
    /// The version, or `(missing)`.
    package let version: String
    /// The reason why the library cannot be used, and the packages to install; nil for one that is loaded.
    public var problem: (reason: String, packages: String)?

    /// Names a library that is loaded.
    public init(_ name: String, _ version: String) { (word, self.version) = (name, version) }
}

extension CodecLibrary {
    /// A library that is loaded when it is needed, or the reason why it cannot be.
    package init(_ name: String, _ version: String?, _ reason: String, packages: String) {
        self.init(name, version ?? "(missing)")
        if version == nil { problem = (reason, packages) }
    }

    /// The libraries that are used for pixels, beside the codecs. Loads those that are not linked.
    package static var forPixels: [CodecLibrary] {
        let lcms = kf_color_version()
        return [
            CodecLibrary("zlib", String(cString: kf_zlib_version())),
            CodecLibrary(
                "lcms2", lcms == 0 ? nil : "\(lcms / 1000).\(lcms / 10 % 100)", "it converts colours for --srgb",
                packages: "liblcms2-2 (Debian, Ubuntu) or lcms2 (Fedora)"),
        ]
    }

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

    /// libavif with the coders of AV1 that kf uses. Loads it.
    static var avif: CodecLibrary {
        if let reason = kf_avif_load() {
            var library = CodecLibrary("libavif", "(missing)")
            library.problem = (String(cString: reason), avifPackages)
            return library
        }
        let said = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
            text.initialize(repeating: 0)
            kf_avif_coders(text.baseAddress)
            return text.baseAddress.map { String(cString: $0) } ?? ""
        }
        // As in `dav1d [dec]:1.0.0, aom [enc/dec]:v3.6.0, rav1e [enc]:0.5.1 (v0.5.1)`.
        let coders = ["dav1d", "aom"].compactMap { name -> String? in
            guard let coder = said.split(separator: ",").first(where: { $0.drop { $0 == " " }.hasPrefix(name) }) else {
                return nil
            }
            return coder.split(separator: ":").last.map { "\(name) \($0.drop { $0 == "v" })" }
        }
        return CodecLibrary("libavif", "\(String(cString: kf_avif_version())) (\(coders.joined(separator: ", ")))")
    }
}
