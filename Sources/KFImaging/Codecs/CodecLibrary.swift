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
}
