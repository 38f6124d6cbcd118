# What the assembler says of the tensor cores' kernels.
#
#   cmake -DFOLDER=F -P assembler_report.cmake -- nvcc ...
#       runs the compiler, and keeps its report in F
#   cmake -DFOLDER=F -P assembler_report.cmake
#       fails if a report in F has spilled registers, or products that wait for one another
#
# Either of the two costs a kernel most of its speed, and nothing else would show it.
cmake_minimum_required(VERSION 3.22)

set(command "")
set(source "")
set(after FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
    if(after)
        list(APPEND command "${CMAKE_ARGV${i}}")
        if(CMAKE_ARGV${i} MATCHES "([a-z0-9_]+)\\.cu$")
            set(source ${CMAKE_MATCH_1})
        endif()
    elseif(CMAKE_ARGV${i} STREQUAL "--")
        set(after TRUE)
    endif()
endforeach()

if(command)
    execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
    # A step that only lists dependencies reports nothing.
    if(said MATCHES "ptxas info")
        file(WRITE ${FOLDER}/${source}.ptxas "${said}")
    endif()
    string(REGEX REPLACE "(ptxas info|    [0-9]+ bytes stack|[0-9]+ bytes gmem)[^\n]*\n" "" rest "${said}")
    string(STRIP "${rest}" rest)
    if(rest)
        message("${rest}")
    endif()
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "the compiler failed")
    endif()
    return()
endif()

# What may be spilled, as nvcc 13.0 has it: kernels, architectures, the most bytes stored and loaded.
set(allowed
    # In the loop, all 255 registers being taken: an address, read once a tile of 256 products.
    "async_kernel.*Li128E sm_90 8 8"
    # One value of a lane, all 255 registers being taken.
    "mma_kernel.*Li256ELb0E sm_90 4 12"
    # The kernel that rounds dQ's sums, and has no products: an index, round a call and a barrier.
    "mma_dq_kernel.*Li128E sm_[89]0 4 4")

# Whether ALLOWED has a line for so many bytes in one function of the kernel.
function(spill_is_allowed kernel architecture stores loads result)
    set(fine FALSE)
    if(stores EQUAL 0 AND loads EQUAL 0)
        set(fine TRUE)
    endif()
    foreach(line IN LISTS allowed)
        string(REPLACE " " ";" line "${line}")
        list(POP_FRONT line name on most_stores most_loads)
        if(kernel MATCHES "${name}" AND architecture MATCHES "^${on}$"
           AND stores LESS_EQUAL most_stores AND loads LESS_EQUAL most_loads)
            set(fine TRUE)
        endif()
    endforeach()
    set(${result} ${fine} PARENT_SCOPE)
endfunction()

file(GLOB reports ${FOLDER}/*.ptxas)
if(NOT reports)
    message("skipped: this build has no kernels for tensor cores")
    return()
endif()
set(kernels 0)
set(fails 0)
foreach(report IN LISTS reports)
    file(STRINGS ${report} lines)
    foreach(line IN LISTS lines)
        if(line MATCHES "Compiling entry function '([^']*)' for '([^']*)'")
            set(kernel ${CMAKE_MATCH_1})
            set(architecture ${CMAKE_MATCH_2})
            math(EXPR kernels "${kernels} + 1")
        elseif(line MATCHES "([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads")
            spill_is_allowed(${kernel} ${architecture} ${CMAKE_MATCH_1} ${CMAKE_MATCH_2} fine)
            if(NOT fine)
                message(SEND_ERROR "${kernel} for ${architecture}: ${line}")
                math(EXPR fails "${fails} + 1")
            endif()
        elseif(line MATCHES "Potential Performance Loss")
            message(SEND_ERROR "${line}")
            math(EXPR fails "${fails} + 1")
        endif()
    endforeach()
endforeach()
message("${kernels} kernels: ${fails} spill what is not allowed, or have products that wait for others")
