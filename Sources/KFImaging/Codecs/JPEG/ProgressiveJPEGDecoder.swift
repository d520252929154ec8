import CImageCodecs

/// Decodes a progressive JPEG while it arrives, and makes a picture for every complete scan.
///
/// A decoder must not be used by several threads at once. It keeps the bytes for its lifetime.
package final class ProgressiveJPEGDecoder {
    private enum Stage {
        case header, scans, done
    }

    private let options: DecodeOptions
    private var bytes: UnsafeMutablePointer<UInt8>?
    private var count = 0
    private var capacity = 0
    private var reader: JPEGReader?
    private var stage = Stage.header
    private var size = PixelSize(width: 0, height: 0)
    private var orientation = Orientation.upright
    private var profile: [UInt8]?
    /// The allowance for a file of unknown size, made with the first bytes.
    private var allowance: Allowance?
    /// Counts the coefficients that libjpeg keeps.
    private var library: MemoryReservation?

    /// Uses the limits and the minimum size of the options; without the latter, pictures have their full size.
    package init(options: DecodeOptions = .init()) {
        self.options = options
    }

    deinit {
        // The reader points into the bytes.
        reader = nil
        if let bytes { Scratch.give(bytes) }
    }

    /// Whether the last scan has been decoded.
    package var isComplete: Bool { stage == .done }

    /// Takes the next bytes. Returns a picture when they complete a scan, with the data so far of the next scan.
    ///
    /// Returns nil when they complete none, and always for a JPEG with a single scan. The picture of the last scan
    /// equals that of ``ImageDecoder``.
    ///
    /// - Throws: what ``ImageDecoder`` throws. After an error the decoder must not be used.
    package func append(_ more: [UInt8], isLast: Bool = false) throws(ImagingError) -> Image? {
        if stage == .done { return nil }
        let allowance = self.allowance ?? Allowance(options.limits, fileBytes: nil)
        self.allowance = allowance
        return try allowance.after(.zero).run { () throws(ImagingError) in try take(more, isLast: isLast) }
    }

    private func take(_ more: [UInt8], isLast: Bool) throws(ImagingError) -> Image? {
        try keep(more)
        let all = UnsafeRawBufferPointer(start: bytes, count: count)
        if reader == nil { reader = try JPEGReader(all, areGrowing: true) }
        reader?.supply(all, isAll: isLast)
        if stage == .header, try !readHeader(all) { return nil }
        return try readScans()
    }

    private func keep(_ more: [UInt8]) throws(ImagingError) {
        if count + more.count > capacity {
            let larger = max(capacity * 2, count + more.count, 1 << 14)
            let moved = try Scratch.take(UInt8.self, larger)
            if let bytes {
                moved.update(from: bytes, count: count)
                Scratch.give(bytes)
            }
            (bytes, capacity) = (moved, larger)
        }
        more.withUnsafeBufferPointer { buffer in
            if let base = buffer.baseAddress { bytes?.advanced(by: count).update(from: base, count: buffer.count) }
        }
        count += more.count
    }

    /// Reads the header; false while it is incomplete, and for a JPEG with a single scan.
    private func readHeader(_ all: UnsafeRawBufferPointer) throws(ImagingError) -> Bool {
        guard try reader?.readHeader() == true, let source = reader?.size else { return false }
        let structure = try JPEGStructure(header: all)
        try options.limits.check(source)
        orientation = structure.blocks.orientation
        profile = try JPEGStructure.iccProfile(in: all)
        let minimum = orientation.swapsSides ? options.minimumSize?.turned : options.minimumSize
        guard reader?.hasManyScans == true else {
            stage = .done
            return false
        }
        library = try MemoryReservation(structure.size.width * 256 + structure.coefficients * 2)
        size = try reader?.scale(JPEGScale.numerator(source: source, minimum: minimum)) ?? source
        try reader?.begin()
        stage = .scans
        return true
    }

    private func readScans() throws(ImagingError) -> Image? {
        var completed = false
        while stage == .scans, let progress = try reader?.absorb(maxScans: options.limits.maxScans) {
            switch progress {
            case KF_MORE: try ImageCodecs.checkTime()
            case KF_SCAN: completed = true
            case KF_SUSPENDED: return completed ? try picture() : nil
            default: stage = .done
            }
        }
        return try picture()
    }

    /// Makes the picture of the scans so far.
    private func picture() throws(ImagingError) -> Image? {
        try reader?.beginOutput()
        var target = try RowTarget(size, reader?.format ?? .rgb, targets: [nil])
        let inks = reader?.isCMYK == true ? InkConverter(profile: profile) : nil
        guard let picture = try reader?.read(into: &target, width: size.width, through: inks)[0] else { return nil }
        try reader?.endOutput()
        return try Image(stored: picture, .jpeg, orientation, profile: profile, metadata: nil)
    }
}
