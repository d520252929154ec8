/// The headers of a BMP file, or of a bitmap inside an ICO: every version of Windows and of OS/2.
///
/// A bitmap inside an ICO has no file header, and its height counts the rows of the transparency mask too.
struct BMPHeader {
    enum Storage: Equatable {
        /// Rows of packed pixels.
        case rows
        /// RLE4, RLE8 or the 24-bit RLE of OS/2, by the depth.
        case runs
        /// A feature that kf does not decode; the text completes "BMP with … is not supported".
        case unsupported(String)
    }

    /// The bytes of the whole file.
    let bytes: UnsafeRawBufferPointer
    /// The format that errors name: BMP or ICO.
    let container: ImageFormat
    let size: PixelSize
    /// Whether the first stored row is the top one.
    let isTopDown: Bool
    /// The bits of a pixel.
    let depth: Int
    let storage: Storage
    /// The bits of red, green, blue and alpha in a pixel of 16 bits or more. Without alpha the last mask is 0.
    let masks: SIMD4<UInt32>
    /// The offset of the palette, and the number and size of its entries.
    let palette: (start: Int, count: Int, entrySize: Int)
    /// The offset of the first row or run.
    let data: Int
    /// The offsets of the embedded ICC profile.
    let profile: Range<Int>?

    var isIcon: Bool { container == .ico }

    /// The distance between rows in the file.
    var bytesPerRow: Int { (size.width * depth + 31) / 32 * 4 }

    /// The bits of a palette index, or of the widest sample, but no more than the 8 that are decoded.
    var bitDepth: Int {
        if depth <= 8 { return depth }
        return max(1, min(8, (0..<3).map { masks[$0].nonzeroBitCount }.max() ?? 8))
    }

    /// Reads the headers at `start`. In a BMP, `dataOffset` is the offset of the rows that the file header states.
    ///
    /// - Throws: `truncated`, and `corrupt` for values without a meaning.
    init(
        _ bytes: UnsafeRawBufferPointer, at start: Int, container: ImageFormat, dataOffset: Int? = nil
    ) throws(ImagingError) {
        guard let length = bytes.littleEndian32(at: start) else { throw .truncated(container) }
        guard BMPHeader.isLength(length) else { throw .corrupt(container, reason: "a header of \(length) bytes") }
        guard bytes.count - start >= length else { throw .truncated(container) }
        // A header of OS/2 may end after any field; fields that it lacks are 0.
        func field(_ offset: Int) -> Int { offset + 4 <= length ? bytes.littleEndian32(at: start + offset) ?? 0 : 0 }
        func half(_ offset: Int) -> Int { bytes.littleEndian16(at: start + offset) ?? 0 }

        let isCore = length == 12
        let width = isCore ? half(4) : Int(Int32(truncatingIfNeeded: field(4)))
        var height = isCore ? half(6) : Int(Int32(truncatingIfNeeded: field(8)))
        isTopDown = height < 0
        if container == .ico { height /= 2 }
        height = abs(height)
        guard width > 0, height > 0 else { throw .corrupt(container, reason: "a picture of \(width)×\(height) pixels") }
        let depth = half(isCore ? 10 : 14)
        let compression = field(16)
        storage = try BMPHeader.storage(compression, depth: depth, header: length, container)

        let hasMasks = storage == .rows && compression != 0
        let hasAlphaMask = compression == 6 || length >= 56
        masks =
            hasMasks
            ? try BMPHeader.masks(bytes, at: start + 40, hasAlphaMask, depth, container) : BMPHeader.usual(depth)
        // The masks of a header of 40 bytes follow it.
        let tables = start + (hasMasks ? max(length, hasAlphaMask ? 56 : 52) : length)

        let entrySize = isCore ? 3 : 4
        var count = 0
        if depth <= 8 {
            let stated = field(32)
            count = stated == 0 || stated > 1 << depth ? 1 << depth : stated
        }
        if let dataOffset, dataOffset >= tables {
            count = min(count, (dataOffset - tables) / entrySize)
            data = dataOffset
        } else {
            data = tables + count * entrySize
        }
        palette = (tables, count, entrySize)
        if depth <= 8, count == 0, case .rows = storage { throw .corrupt(container, reason: "no palette") }
        profile = length == 124 ? BMPHeader.profile(bytes, at: start) : nil
        (self.bytes, self.container, self.depth) = (bytes, container, depth)
        size = PixelSize(width: width, height: height)
    }

    /// Whether a header may have this length: 12 for OS/2 1, 16 to 64 for OS/2 2, and those of Windows.
    static func isLength(_ length: Int) -> Bool {
        [12, 42, 46, 108, 124].contains(length) || (16...64).contains(length) && length % 4 == 0
    }

    private static func storage(
        _ compression: Int, depth: Int, header size: Int, _ container: ImageFormat
    ) throws(ImagingError) -> Storage {
        switch (compression, depth) {
        case (0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 24), (0, 32): return .rows
        // In a header of OS/2 the number 3 is another compression, and the place of the masks has other fields.
        case (3, 16), (3, 24), (3, 32), (6, 16), (6, 24), (6, 32):
            guard size == 40 || size == 52 || size == 56 || size > 64 else { break }
            return .rows
        case (1, 8), (2, 4): return container == .ico ? .unsupported("run-length encoding") : .runs
        case (4, 24) where size <= 64: return container == .ico ? .unsupported("run-length encoding") : .runs
        case (3, 1): return .unsupported("Huffman compression")
        case (4, _): return .unsupported("an embedded JPEG")
        case (5, _): return .unsupported("an embedded PNG")
        case (11...13, _): return .unsupported("CMYK")
        case (0, 64): return .unsupported("64 bits a pixel")
        default: break
        }
        throw .corrupt(container, reason: "compression \(compression) with \(depth) bits a pixel")
    }

    /// The masks without stated ones: 5 bits a sample in 16, and 8 bits otherwise.
    private static func usual(_ depth: Int) -> SIMD4<UInt32> {
        depth == 16 ? [0x7C00, 0x03E0, 0x001F, 0] : [0xFF_0000, 0xFF00, 0xFF, 0]
    }

    private static func masks(
        _ bytes: UnsafeRawBufferPointer, at start: Int, _ hasAlpha: Bool, _ depth: Int, _ container: ImageFormat
    ) throws(ImagingError) -> SIMD4<UInt32> {
        var masks = SIMD4<UInt32>.zero
        for index in 0..<(hasAlpha ? 4 : 3) {
            guard let stated = bytes.littleEndian32(at: start + index * 4) else { throw .truncated(container) }
            let mask = UInt32(truncatingIfNeeded: stated) & UInt32(truncatingIfNeeded: (1 << depth) - 1)
            let bits = mask >> UInt32(clamping: mask.trailingZeroBitCount)
            guard bits & (bits &+ 1) == 0 else { throw .corrupt(container, reason: "a mask with gaps") }
            masks[index] = mask
        }
        return masks
    }

    /// The profile that a header of version 5 embeds; its offset counts from the header.
    private static func profile(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Range<Int>? {
        guard bytes.holds("DEBM", at: start + 56), let offset = bytes.littleEndian32(at: start + 112),
            let length = bytes.littleEndian32(at: start + 116), start + offset + length <= bytes.count
        else { return nil }
        return start + offset..<start + offset + length
    }
}

extension BMPHeader: FileStructure {
    /// Reads the headers of a BMP file.
    ///
    /// The size in the file header is ignored: many writers state a wrong one.
    init(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent) throws(ImagingError) {
        guard let data = bytes.littleEndian32(at: 10) else { throw .truncated(.bmp) }
        try self.init(bytes, at: 14, container: .bmp, dataOffset: data)
    }

    /// The facts that the headers state. Run lengths tell by walking them whether they skip pixels; damaged ones do.
    var info: ImageInfo {
        var hasAlpha = isIcon || masks[3] != 0
        if storage == .runs { hasAlpha = (try? BMPRuns.walk(self).isWhole) != true }
        return ImageInfo(
            format: container, stored: size, hasAlpha: hasAlpha, colorModel: depth <= 8 ? .indexed : .rgb,
            bitDepth: bitDepth)
    }

    /// Finds every kind of damage: missing rows, and damaged runs.
    func check() throws(ImagingError) -> [ImageWarning] {
        switch storage {
        case .rows:
            try checkRows()
            if isIcon { _ = try BMPRows(self) }
        case .runs: _ = try BMPRuns.walk(self)
        case .unsupported: break
        }
        return []
    }

    /// - Throws: `truncated` when the bytes do not hold every row.
    func checkRows() throws(ImagingError) {
        // The padding of the last row may be missing.
        let last = (size.width * depth + 7) / 8
        let (before, overflow) = bytesPerRow.multipliedReportingOverflow(by: size.height - 1)
        guard !overflow, data <= bytes.count - last, before <= bytes.count - last - data else {
            throw .truncated(container)
        }
    }
}
