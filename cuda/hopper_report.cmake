# What the assembler says of the Hopper kernels.
#
#   cmake -DFOLDER=F -P hopper_report.cmake -- nvcc ...
#       runs the compiler, and keeps its report in F
#   cmake -DFOLDER=F -P hopper_report.cmake
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
        if(CMAKE_ARGV${i} MATCHES "([a-z_]+)\\.cu$")
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

file(GLOB reports ${FOLDER}/*.ptxas)
if(NOT reports)
    message("skipped: this build has no Hopper kernels")
    return()
endif()
set(kernels 0)
foreach(report IN LISTS reports)
    file(STRINGS ${report} lines)
    set(kernel "")
    foreach(line IN LISTS lines)
        if(line MATCHES "Compiling entry function '([^']*)'")
            set(kernel ${CMAKE_MATCH_1})
            math(EXPR kernels "${kernels} + 1")
        elseif(line MATCHES "[1-9][0-9]* bytes spill")
            message(SEND_ERROR "${kernel}: ${line}")
        elseif(line MATCHES "\\(C75(0[0-9]|1[0-8])\\)")
            message(SEND_ERROR "${line}")
        endif()
    endforeach()
endforeach()
message("${kernels} kernels: no register is spilled, no product waits for another")
