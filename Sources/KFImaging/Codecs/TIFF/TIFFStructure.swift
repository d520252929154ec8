/// The first page of a TIFF, read without libtiff.
struct TIFFStructure: FileStructure {
    let size: PixelSize
    let orientation: Orientation
    let layout: TIFFLayout
    private let bytes: UnsafeRawBufferPointer
    private let tags: TIFFTags

    /// Reads the first directory, which may be at the end of the file.
    ///
    /// - Throws: `truncated` without the directory, `corrupt` without a size.
    init(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent) throws(ImagingError) {
        self.bytes = bytes
        tags = try TIFFTags(bytes)
        size = PixelSize(width: tags.value(256) ?? 0, height: tags.value(257) ?? 0)
        guard size.width > 0, size.height > 0, max(size.width, size.height) < 1 << 31 else {
            throw .corrupt(.tiff, reason: "no size")
        }
        orientation = Orientation(tags.value(274) ?? 1)
        layout = TIFFLayout(tags)
    }

    var info: ImageInfo {
        ImageInfo(
            format: .tiff, stored: size, orientation: orientation, hasAlpha: layout.hasAlpha, colorModel: layout.model,
            bitDepth: layout.bits)
    }

    var pages: Int { tags.pages }
    var exif: [UInt8]? { tags.exif }

    /// Compares the places of strips and tiles with the length of the file.
    func check() throws(ImagingError) -> [ImageWarning] {
        let (offsets, lengths) = tags.count(324) > 0 ? (324, 325) : (273, 279)
        // A value takes two bytes or more, so that no count is larger than half of the file.
        for index in 0..<min(tags.count(offsets), bytes.count) {
            guard let offset = tags.value(offsets, index) else { throw .truncated(.tiff) }
            let length = tags.value(lengths, index) ?? 0
            if length > 0, offset > bytes.count || length > bytes.count - offset { throw .truncated(.tiff) }
        }
        return []
    }
}
