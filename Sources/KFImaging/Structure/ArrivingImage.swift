/// A look at an image's longest parts while its file arrives, when a processor's cache holds the bytes anyway.
///
/// Only PNG and JPEG gain by it. `ReadPassage` takes what was found to `ImageProbe`, which then goes over these parts.
package enum ArrivingImage: Sendable {
    case png(PNGImageData)
    case jpeg(JPEGScanData)

    /// Nil for formats that are looked at when they are whole.
    package init?(_ kind: ContentKind) {
        switch kind {
        case .image(.png): self = .png(PNGImageData())
        case .image(.jpeg): self = .jpeg(JPEGScanData())
        default: return nil
        }
    }

    /// The next bytes of the file; the first time, from its beginning.
    package mutating func read(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .png(var data):
            data.read(bytes)
            self = .png(data)
        case .jpeg(var data):
            data.read(bytes)
            self = .jpeg(data)
        }
    }

    /// A PNG's image data, if it was verified from `position` on.
    func imageData(at position: Int) -> PNGImageData.Run? {
        guard case .png(let data) = self, let run = data.run, run.range.lowerBound == position else { return nil }
        return run
    }

    /// Where a JPEG's scan data that begins at `position` ends, if that is known.
    func endOfScan(from position: Int) -> Int? {
        guard case .jpeg(let data) = self else { return nil }
        return data.runs.first { $0.lowerBound == position }?.upperBound
    }
}
