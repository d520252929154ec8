/// Resizes with Lanczos-3, row by row, rounding once at the end; 16 bits stay 16.
///
/// Grey pixels are worked on in two lanes and colours in four.
enum Resampler {
    case gray(ResampleStage<SIMD2<Float>>)
    case color(ResampleStage<SIMD4<Float>>)

    /// The extent is how much of the source counts; nil is all of it. For the sharpening see `LanczosWeights`.
    init(
        source: PixelSize, extent: (width: Double, height: Double)? = nil, format: PixelFormat, target: PixelSize,
        sharpening: Double = 0
    ) throws(ImagingError) {
        let extent = extent ?? (Double(source.width), Double(source.height))
        if format.isGray {
            self = .gray(
                try ResampleStage(
                    source: source, extent: extent, format: format, target: target, sharpening: sharpening))
        } else {
            self = .color(
                try ResampleStage(
                    source: source, extent: extent, format: format, target: target, sharpening: sharpening))
        }
    }

    /// Takes the next source row.
    func push(_ row: UnsafeRawPointer) throws(ImagingError) {
        switch self {
        case .gray(let stage): try stage.push(row)
        case .color(let stage): try stage.push(row)
        }
    }

    /// The picture, once every source row has been pushed.
    var result: Bitmap {
        switch self {
        case .gray(let stage): stage.result
        case .color(let stage): stage.result
        }
    }

    static func resize(
        _ bitmap: Bitmap, extent: (width: Double, height: Double)? = nil, to size: PixelSize
    ) throws(ImagingError) -> Bitmap {
        if bitmap.width == size.width, bitmap.height == size.height { return bitmap }
        let source = PixelSize(width: bitmap.width, height: bitmap.height)
        let resampler = try Resampler(source: source, extent: extent, format: bitmap.format, target: size)
        try bitmap.withUnsafeRows { (rows) throws(ImagingError) in
            for y in 0..<rows.height { try resampler.push(rows.base + y * rows.bytesPerRow) }
        }
        return resampler.result
    }
}
